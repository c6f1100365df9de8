"""The measurements of a CSV, one value per row, and the groups and curves that they belong to."""

import csv
from dataclasses import dataclass
from pathlib import Path

_UNFIT = ("infx_", "dennislee22_", "shisa_")
"""Sources that are noisy by their own word or ran with a warm prefix cache."""
_SAME_GPU = {"A100 80GB": "A100 80GB SXM", "H200": "H200 SXM", "H100": "H100 SXM"}

Group = tuple[str, str, int]
"""Model, GPU and tensor parallel size: what is left out together."""


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement of one replica. Seconds and tokens per second; None: not measured."""

    source: str
    """Whose run it is: rows of one source and curve were measured together."""
    model: str
    weight_dtype: str
    kv_dtype: str
    gpu: str
    tp: int
    input_tokens: int
    output_tokens: int
    concurrency: int
    ttft: float | None
    tpot: float | None
    output_rate: float | None
    old: bool
    """Measured with the engine before version 0.8, which had another scheduler."""

    @property
    def group(self) -> Group:
        """The row's group."""
        return self.model, self.gpu, self.tp

    @property
    def curve(self) -> tuple[object, ...]:
        """Equal for rows that differ in concurrency alone."""
        return (*self.group, self.weight_dtype, self.kv_dtype, self.input_tokens, self.output_tokens, self.source)

    @property
    def rate(self) -> float | None:
        """Output tokens per second: as measured, else by Little's law from the latencies."""
        if self.output_rate is not None:
            return self.output_rate
        if self.ttft is None or self.tpot is None:
            return None
        return self.concurrency * self.output_tokens / (self.ttft + (self.output_tokens - 1) * self.tpot)


def read_rows(path: Path) -> list[Row]:
    """The rows of vLLM with a concurrency on one replica; sources that are not to be fitted are left out."""
    with path.open(newline="", encoding="utf-8") as file:
        return [row for raw in csv.DictReader(file) if (row := _row(raw)) is not None]


def _row(raw: dict[str, str]) -> Row | None:
    needed = (raw["tp"], raw["input_len"], raw["output_len"], raw["concurrency"])
    if raw["id"].startswith(_UNFIT) or not raw["engine"].startswith("vLLM") or "(extra)" in raw["engine"]:
        return None
    if not all(value.isdigit() and int(value) > 0 for value in needed) or raw["dp_or_replicas"] not in ("", "1"):
        return None
    if "MTP" in raw["notes"] or "speculative" in raw["notes"].lower():
        return None
    tp, given, asked, concurrency = map(int, needed)
    ttft = raw["ttft_p50_ms"] or raw["ttft_mean_ms"] or (raw["ttft_p99_ms"] if concurrency == 1 else "")
    tpot, rate = raw["tpot_p50_ms"] or raw["tpot_mean_ms"], raw["output_tok_s"]
    return Row(
        source=_source(raw["id"]),
        model=raw["model"],
        weight_dtype=raw["weight_dtype"],
        kv_dtype=raw["kv_dtype"],
        gpu=_SAME_GPU.get(raw["gpu"], raw["gpu"]),
        tp=tp,
        input_tokens=given,
        output_tokens=asked,
        concurrency=concurrency,
        ttft=float(ttft) / 1000 if ttft else None,
        tpot=float(tpot) / 1000 if tpot else None,
        output_rate=float(rate) if rate else None,
        old=raw["version"].startswith(("0.5", "0.6", "0.7")),
    )


def _source(name: str) -> str:
    """The prefix of an id, with the configuration of InferenceX rows: it holds engine version and settings."""
    run = name.rsplit("_", 1)[-1]
    return f"{name.split('_', 1)[0]} {run if run.startswith('cfg') else ''}".strip()
