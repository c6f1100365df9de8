"""From a table of models to the `config.json` that a store would hold, and so to the planner's facts.

Fine-tunes and point releases have the shape of the model that they come from, and the table names that one.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inference_fleet.catalog.models import ModelFacts, model_facts

_SAME_SHAPE = (
    (r"minimax-m2(\.\d)?", "minimax-m2"),
    (r"kimi-k2(\.\d)?", "kimi-k2"),
    (r"(meta-)?llama-3(\.\d)?-(8b|70b)", r"llama-3-\3"),
    (r"deepseek-r1-distill-llama-(8b|70b)", r"llama-3-\1"),
    (r"(deepseek-r1-distill-qwen|qwen2\.5)-(7b|14b|32b)", r"qwen2.5-\2"),
    (r"qwq-32b(-preview)?", "qwen2.5-32b"),
    (r"deepseek-(r1|v3)", "deepseek-v3"),
)
_SUFFIXES = r"(-(instruct|chat|it|hf|fp8|awq|nvfp4|gptq|int4|2507|0528|0324|v0\.\d|v\d\.\d|2501))+$"
_WINDOWED, _LINEAR = ("swa", "chunk"), ("gdn", "mamba")


class Shapes:
    """The models of a table, found by any name of the same shape."""

    def __init__(self, path: Path) -> None:
        with path.open(newline="", encoding="utf-8") as file:
            self._rows = {_normal(row["model_id"]): row for row in reversed(list(csv.DictReader(file)))}

    def facts(self, model: str, weight_dtype: str) -> ModelFacts | None:
        """The facts of a model stored as `weight_dtype`, None where the table does not describe it."""
        row = self._rows.get(_normal(model))
        if row is None or not row["vocab_size"] or not row["num_hidden_layers"]:
            return None
        return model_facts(_config(row, weight_dtype), None, {})


def _normal(model: str) -> str:
    name = re.sub(r" .*", "", model.lower()).rsplit("/", 1)[-1]
    name = re.sub(_SUFFIXES, "", name)
    for pattern, shape in _SAME_SHAPE:
        if re.fullmatch(pattern, name):
            return re.fullmatch(pattern, name).expand(shape)  # type: ignore[union-attr]
    return name


def _method(weight_dtype: str) -> str | None:
    named = weight_dtype.lower()
    for method in ("awq", "gptq", "nvfp4", "mxfp4", "fp8", "int4"):
        if method in named:
            return method
    return None


def _config(row: Mapping[str, str], weight_dtype: str) -> dict[str, Any]:
    widths = re.findall(r"(moe )?(\d+)", row["intermediate_size"])
    dense = next((int(width) for moe, width in widths if not moe), None)
    expert = next((int(width) for moe, width in widths if moe), None)
    numbers = {name: int(row[name]) for name in _NUMBERS if row[name].isdigit()}
    config: dict[str, Any] = {
        "architectures": [row["arch"]],
        **numbers,
        "intermediate_size": dense or expert,
        "max_position_embeddings": int(re.match(r"\d+", row["max_position_embeddings"])[0]),  # type: ignore[index]
        "tie_word_embeddings": row["tie_embeddings"] == "yes",
        "torch_dtype": "bfloat16",
        "layer_types": _layer_types(row["attn_layout"]),
    }
    if row["n_experts"]:
        config["num_experts"] = int(row["n_experts"])
        config["num_experts_per_tok"] = int(row["experts_per_tok"])
        config["moe_intermediate_size"] = expert or dense
    if config.get("kv_lora_rank") == 512 and row["n_experts"]:
        config.update(q_lora_rank=1536, n_shared_experts=1, first_k_dense_replace=3)  # DeepSeek-V3 and its kin
    method = _method(weight_dtype)
    if method:
        config["quantization_config"] = {"quant_method": method, "bits": 4, "group_size": 32}
        if method != "fp8" and "kimi" in row["model_id"].lower():
            config["quantization_config"]["ignore"] = ["re:.*self_attn.*", "re:.*shared_experts.*"]
        if method == "fp8" and row["n_experts"]:
            config["quantization_config"]["weight_block_size"] = [128, 128]  # as all published ones are
    return config


_NUMBERS = (
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "hidden_size",
    "vocab_size",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "sliding_window",
)


def _layer_types(layout: str) -> list[str]:
    kinds = []
    for kind, count in re.findall(r"([a-z]+)[0-9]*:(\d+)", layout):
        name = "sliding_attention" if kind in _WINDOWED else "linear_attention" if kind in _LINEAR else "full_attention"
        kinds += [name] * int(count)
    return kinds
