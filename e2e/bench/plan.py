"""`inference-fleet plan` as a person waits for it: the whole process, beside a Python that does nothing."""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from e2e.bench.report import Figure
from e2e.bench.stage import Stage
from e2e.cluster.cluster import to_stderr

NAME = "plan"
_RUNS = 15
_TARGET_SECONDS = 0.5
_SAMPLE = Path(__file__).parents[2] / "manifests" / "samples" / "llama-70b.yaml"
_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8"},
}
_INDEX = {"metadata": {"total_size": 72_700_000_000}, "weight_map": {}}


def run(_: Stage) -> list[Figure]:
    """Run both in turn, so that a busy moment of the machine meets both; the medians count."""
    to_stderr(f"{NAME}: {_RUNS} runs")
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder)
        (model / "config.json").write_text(json.dumps(_CONFIG))
        (model / "model.safetensors.index.json").write_text(json.dumps(_INDEX))
        binary = Path(sys.executable).with_name("inference-fleet")
        command: list[str | Path] = [binary, "plan", "-f", _SAMPLE, "--model-config", model]
        pairs = [(_seconds(command), _seconds([sys.executable, "-c", "pass"])) for _ in range(_RUNS)]
    plan, nothing = (statistics.median(times) for times in zip(*pairs, strict=True))
    return [
        Figure(NAME, "inference-fleet plan, median", plan, "s", _TARGET_SECONDS),
        Figure(NAME, "plan / python -c pass", plan / nothing, "x"),
    ]


def _seconds(command: Sequence[str | Path]) -> float:
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin
