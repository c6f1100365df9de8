"""Start-up logs of engines and the tables that describe their models and GPUs, read into what the planner is asked.

The tables are as in `python -m e2e.bench.planner --help`. Nothing here knows a model by name: a log's model is looked
up in the table of models by the words of its name, and its `config.json` is written from the row.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.gpus import GIB, GpuCatalog, GpuType
from inference_fleet.catalog.models import ModelFacts, model_facts
from inference_fleet.planning.request import BLOCK, Request
from inference_fleet.planning.speculation import Speculation

Row = Mapping[str, str]

_IGNORED = """
instruct it chat hf fp8 awq nvfp4 gptq int4 int8 4bit 8bit autoround w4a16 w8a8 dynamic bf16 class experts 256 meta ai
text shape 2507 0528 0324 2501 2512 2603 v1 v0 thinking coder merged sft mtp1 mtp2 mtp3
"""
_NOISE = frozenset(_IGNORED.split())
"""Words of a model's name that say nothing of its shape."""
_BITS = {"fp8": 8.0, "mxfp4": 4.25, "nvfp4": 4.5, "int4": 4.25, "awq": 4.125, "gptq": 4.125, "int8": 8.0}
_UNVERSIONED = (0, 18, 0)


@dataclass(frozen=True, slots=True)
class Log:
    """A start-up log. Bytes are per GPU; None where the log does not say."""

    id: str
    model: str
    kind: str
    facts: ModelFacts | None
    gpu: GpuType | None
    tp: int
    request: Request
    available: float | None
    tokens: int | None
    concurrency: float | None
    load: float | None
    refused: bool
    said: frozenset[str]
    """Columns that are filled."""
    special: bool
    """Whether the log has a set-up that a pool cannot have: ranks of data parallelism, weights kept in host memory."""


def read_logs(path: Path, models: Path, gpus: Path) -> Iterator[Log]:
    """The logs of a table."""
    shapes = [row for row in _rows(models) if row["vocab_size"]]
    catalog = GpuCatalog.builtin()
    cards = _rows(gpus)
    for row in _rows(path):
        shape = find_model(row["model"], shapes)
        facts = None if shape is None else _facts(shape, row)
        gpu = find_gpu(_azure(row), row["gpu_mem_gib"], cards, catalog)
        yield Log(
            id=row["id"],
            model=shape["model_id"] if shape else row["model"],
            kind=_kind(shape),
            facts=facts,
            gpu=gpu,
            tp=int(row["tp"] or 1),
            request=_request(row, facts),
            available=_gib(row["available_kv_gib_per_gpu"]),
            tokens=int(row["kv_tokens"]) if row["kv_tokens"] else None,
            concurrency=float(row["max_concurrency"]) if row["max_concurrency"] else None,
            load=_gib(row["model_load_gib_per_gpu"]),
            refused=row["outcome"] != "ok",
            said=frozenset(name for name, value in row.items() if value),
            special=bool(re.search(r"\bDP\d|offload|data.parallel", row["notes"])),
        )


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _gib(text: str) -> float | None:
    return float(text) * GIB if text else None


def _words(name: str) -> set[str]:
    found = re.findall(r"[a-z]*\d+(?:\.\d+)?[a-z]*|[a-z]+", name.lower().rsplit("/", 1)[-1])
    return {word for word in found if word not in _NOISE}


def find_model(name: str, shapes: list[dict[str, str]]) -> dict[str, str] | None:
    """The row all of whose words are in a log's model name; without one, the same generation's of the same size."""
    words = _words(name)
    for roughly in (False, True):
        best: tuple[int, dict[str, str]] | None = None
        for shape in shapes:
            for alias in re.split(r"[(=,]", shape["model_id"]):
                wanted = _words(alias)
                if roughly:
                    wanted, words = {_generation(word) for word in wanted}, {_generation(word) for word in words}
                if wanted and wanted <= words and (best is None or len(wanted) > best[0]):
                    best = len(wanted), shape
        if best is not None:
            return best[1]
    return None


def _generation(word: str) -> str:
    return re.sub(r"\.\d+$", "", word)


def _azure(row: Row) -> str:
    """KAITO runs on Azure, where a single or paired H100 is the 94 GB NVL."""
    return "H100 NVL" if "kaito" in row["source"] and row["gpu"].startswith("H100") else row["gpu"]


def find_gpu(name: str, memory: str, cards: list[dict[str, str]], catalog: GpuCatalog) -> GpuType | None:
    """The type of a log's GPU: by the table's names, then by the catalogue's, then by a bare size."""
    if not name or "+" in name or "nodes x" in name:
        return None
    words = set(re.findall(r"[a-z0-9]+", re.sub(r"\(.*", "", name.lower()).replace("80 gb", "80gb")))
    known = [(set(re.findall(r"[a-z0-9]+", card["name"].lower())), card["gfd_product_label"]) for card in cards]
    known += [(set(re.findall(r"[a-z0-9]+", gpu.name.lower())), gpu.product) for gpu in catalog.types]
    fitting = [(len(words & own) - 0.1 * len(own - words), product) for own, product in known if _same(words, own)]
    best = max(fitting, key=lambda found: found[0], default=None)
    gpu = catalog.find(best[1].rpartition("=")[2]) if best else None
    size = re.match(r"(\d+) ?gb", name.lower())
    if gpu is None and size:
        gpu = replace_memory(catalog.types[0], float(size[1]) * 0.99)
    return replace_memory(gpu, float(memory)) if gpu is not None and memory else gpu


def _same(words: set[str], own: set[str]) -> bool:
    """Whether the models agree: the word with a number that is no size is the model."""
    model = {word for word in own if re.search(r"\d", word) and not word.endswith("gb")}
    return bool(model) and model <= words


def replace_memory(gpu: GpuType, gib: float) -> GpuType:
    """A type with another memory: a Hopper where only a size is known."""
    changes: dict[str, Any] = {"memory_gib": gib}
    if gpu.product == "Tesla-T4" and gib > 20:
        changes |= {"compute_capability": "9.0", "bf16": True, "fp8": True, "product": "unknown"}
    return gpu.model_copy(update=changes)


def _version(text: str) -> EngineVersion:
    found = re.search(r"(\d+)\.(\d+)(x?)(?:\.(\d+))?", text)
    if not found:
        return EngineVersion((0, 9, 1), known=True)
    major, minor, open_ended, patch = found.groups()
    number = (int(major), int(minor), int(patch or 0))
    if open_ended:
        number = (0, 22, 0) if minor == "2" else _UNVERSIONED
    return EngineVersion(number, known=True)


def _request(row: Row, facts: ModelFacts | None) -> Request:
    version = _version(row["vllm_version"])
    notes = row["notes"].lower()
    batched = re.search(r"batched (\d+)", notes)
    drafts = re.search(r"mtp ?(\d)", (row["model"] + " " + row["notes"]).lower())
    speculation = Speculation("mtp", int(drafts[1]), 1) if drafts else None
    if speculation is None and "eagle" in notes:
        speculation = Speculation("eagle", 1, 1)
    return Request(
        version=version,
        max_model_len=int(row["max_model_len"]) if row["max_model_len"] else None,
        max_num_seqs=int(row["max_num_seqs"]) if row["max_num_seqs"] else None,
        utilization=float(row["gpu_memory_utilization"] or version.default_utilization),
        enable_prefix_caching=True,
        kv_cache_dtype=row["kv_dtype"] or "auto",
        request_tokens=None,
        extra_args=("--enforce-eager",) if "eager" in notes else (),
        batched_tokens=int(batched[1]) if batched else None,
        block=BLOCK,
        kv_cache_bytes=None,
        dtype=None,
        speculation=speculation,
    )


def _kind(shape: Row | None) -> str:
    if shape is None:
        return "unknown"
    layout = shape["attn_layout"]
    for mark, kind in (
        ("dsv4", "compressed"),
        ("indexer", "MLA + indexer"),
        ("mla", "MLA"),
        ("gdn", "hybrid"),
        ("mamba", "hybrid"),
        ("@kv", "mixed geometry"),
        ("chunk", "chunked"),
        ("swa", "sliding"),
    ):
        if mark in layout:
            return kind
    return "full, MoE" if shape["n_experts"] else "full"


def _facts(shape: Row, row: Row) -> ModelFacts | None:
    method = next((name for name in _BITS if name in row["weight_dtype"].lower()), None)
    sees = "VL" in row["model"] and "VL" not in shape["model_id"]
    config = config_of(shape, method) | (_tower(shape) if sees else {})
    facts = model_facts(config, None, {})
    stored = _stored(shape, method, facts) + (facts.parameters.encoders * 2 if sees else 0)
    facts = model_facts(config, {"metadata": {"total_size": stored}}, {})
    stages = int(row["pp"] or 1)
    if stages == 1:
        return facts
    groups = tuple(replace(group, count=-(-group.count // stages)) for group in facts.attention)
    return replace(facts, attention=groups, layers=facts.layers // stages, weights_bytes=facts.weights_bytes // stages)


def _stored(shape: Row, method: str | None, facts: ModelFacts) -> int:
    """Bytes of the checkpoint: the table's where it has them for this type, else from the parameters."""
    said = shape["checkpoint_gib"]
    own = shape["checkpoint_dtype"].startswith(method or "bf16")
    number = re.match(r"~?(\d+(?:\.\d+)?)(?=$|;)", said)
    if own and number:
        return int(float(number[1]) * GIB)
    named = re.search(rf"{method}[a-z0-9-]* (\d+(?:\.\d+)?)", said, re.IGNORECASE) if method else None
    if named:
        return int(float(named[1]) * GIB)
    wide = facts.parameters.embeddings + facts.parameters.encoders + facts.parameters.plain
    total = float(shape["total_params_b"]) * 1e9
    bits = _BITS.get(method or "", 16.0)
    if method == "mxfp4":
        wide += facts.parameters.attention + facts.parameters.kv_projections
    return int(max(total - wide, 0) * bits / 8 + wide * 2)


_DRAFTING = ("DeepseekV3", "DeepseekV4", "GlmMoe", "Qwen3_5")
"""Classes whose checkpoints bring a layer for multi-token prediction."""
_FIELDS = (
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
_QUANTIZED: dict[str, dict[str, Any]] = {
    "fp8": {"quant_method": "fp8"},
    "awq": {"quant_method": "awq", "bits": 4, "group_size": 128},
    "gptq": {"quant_method": "gptq", "bits": 4, "group_size": 128},
    "int4": {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 4}}}},
    "int8": {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {"num_bits": 8}}}},
    "mxfp4": {"quant_method": "mxfp4"},
    "nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
}


def config_of(shape: Row, method: str | None) -> dict[str, Any]:
    """The `config.json` that a row of the table describes."""
    widths = re.findall(r"(moe )?(\d+)", shape["intermediate_size"])
    dense = next((int(width) for moe, width in widths if not moe), None)
    expert = next((int(width) for moe, width in widths if moe), None)
    longest = re.findall(r"\d+", shape["max_position_embeddings"])
    config: dict[str, Any] = {
        "architectures": [shape["arch"]],
        **{name: int(shape[name]) for name in _FIELDS if shape[name].isdigit()},
        "intermediate_size": dense or expert or 4 * int(shape["hidden_size"]),
        "max_position_embeddings": max(map(int, longest), default=2048),
        "tie_word_embeddings": shape["tie_embeddings"] == "yes",
        "torch_dtype": "bfloat16",
        **_layers(shape),
    }
    if shape["n_experts"]:
        config |= {
            "num_experts": int(shape["n_experts"]),
            "num_experts_per_tok": int(shape["experts_per_tok"] or 1),
            "moe_intermediate_size": expert or dense,
        }
    if shape["arch"].startswith(_DRAFTING):
        config["num_nextn_predict_layers"] = 1
    if method:
        config["quantization_config"] = _QUANTIZED[method]
    if "ConditionalGeneration" in shape["arch"] or "VL" in shape["arch"]:
        config |= _tower(shape)
    return config


def _layers(shape: Row) -> dict[str, Any]:
    """Layer types and the geometry of each kind, from `attn_layout` and the words of `source`."""
    layout, source = shape["attn_layout"], shape["source"]
    types: list[str] = []
    for kind, count in re.findall(r"(full|swa|chunk|gdn|mamba)\d*:(\d+)", layout):
        name = {"full": "full_attention", "swa": "sliding_attention", "chunk": "chunked_attention"}.get(kind, "mamba")
        types += [name] * int(count)
    alone = int(shape["num_hidden_layers"]) - len(types)
    if "mamba" in types and alone:  # Nemotron-H: mixers and MLPs are layers of their own
        found: dict[str, Any] = {"layers_block_type": [*types, *["moe"] * alone], "mlp_hidden_act": "relu2"}
    else:
        found = {"layer_types": types} if types else {}
    window, chunk = re.search(r"swa(\d+)", layout), re.search(r"chunk(\d+)", layout)
    if window:
        found["sliding_window"] = int(window[1])
    if chunk:
        found["attention_chunk_size"] = int(chunk[1])
    other = re.search(r"@kv(\d+)hd(\d+)", layout)
    if other:
        found |= {"num_global_key_value_heads": int(other[1]), "global_head_dim": int(other[2])}
    indexer = re.search(r"indexer(\d+):", layout)
    if indexer:
        every = re.search(r"index_topk_freq=(\d+)", source)
        found |= {
            "index_head_dim": int(indexer[1]),
            "index_topk": 2048,
            "index_topk_freq": int(every[1]) if every else 1,
        }
    if "dsv4" in layout:
        count = int(shape["num_hidden_layers"])
        found["compress_ratios"] = [0, 0, *(4 if number % 2 == 0 else 128 for number in range(count - 2))]
    return found | _states(layout, source)


def _states(layout: str, source: str) -> dict[str, Any]:
    if "gdn" in layout:
        heads = re.search(r"(\d+)(?: k-heads)?/(\d+)(?: v-)?\s?(?:heads )?(?:v-heads )?x", source)
        dtype = {"mamba_ssm_dtype": "float32"} if "@fp32" in layout else {}
        keys, values = (int(heads[1]), int(heads[2])) if heads else (16, 64)
        return {"linear_num_key_heads": keys, "linear_num_value_heads": values, "linear_conv_kernel_dim": 4, **dtype}
    mamba = re.search(r"mamba (\d+) heads x (\d+), state (\d+), (\d+) groups", source)
    if mamba:
        names = ("mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups")
        return {**dict(zip(names, map(int, mamba.groups()), strict=True)), "mamba_ssm_dtype": "float32"}
    return {}


def _tower(shape: Row) -> dict[str, Any]:
    """A tower as the two common kinds have it: merged patches of any size, or a fixed number of tokens per image."""
    tower = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_heads": 16}
    if "Gemma3For" in shape["arch"]:
        scaling = {"rope_type": "linear", "factor": 8.0}
        tower |= {"image_size": 896, "patch_size": 14}
        return {"vision_config": tower, "mm_tokens_per_image": 256, "rope_scaling": scaling}
    if "emma" in shape["arch"]:
        return {"vision_config": {**tower, "image_size": 896, "patch_size": 14}, "mm_tokens_per_image": 256}
    return {"vision_config": {**tower, "spatial_merge_size": 2}}
