"""How a checkpoint stores its weights, from `quantization_config`: bits, what stays in 16 bits, what must not be cut.

Covers fp8 (per tensor, channel or block), AWQ, GPTQ, compressed-tensors, MXFP4, NVFP4 and ModelOpt. Embeddings, output
layer, norms, routers and encoders stay in 16 bits in all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from inference_fleet.catalog.model_config import Config

_MOST_BITS = 64
_UNQUANTIZED = 16.0
_KEPT = {
    "attention": ("self_attn", "linear_attn", ".attn", "q_proj", "o_proj"),
    "shared_experts": ("shared_expert",),
    "mlp": ("mlp.gate_proj", "mlp.down_proj", "mlp\\.(", "feed_forward"),
}
"""What of a layer may be left out of the quantisation, and what its modules are called in the list of exceptions."""
_LEAST_CAPABILITY: dict[str, tuple[int, int]] = {
    "awq": (7, 5),
    "gptq": (7, 5),
    "fp8": (7, 5),
    "compressed-tensors": (7, 5),
    "mxfp4": (8, 0),
    "nvfp4": (8, 0),
}
"""CUDA compute capability from which the engine has a kernel (for fp8 and fp4 below 8.9 and 10.0 one that unpacks)."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """A quantised checkpoint."""

    method: str
    bits: float
    """Bits per weight of the linear layers, scales included."""
    granule: int | None = None
    """A rank's share of the intermediate size must be a multiple of this."""
    fp8: bool = False
    expert_bits: float | None = None
    """Where experts are stored in another width."""
    kept: frozenset[str] = frozenset()
    """Parts of the layers that stay in 16 bits: attention, mlp, shared_experts."""
    kv_fp8: bool = False
    """Whether the checkpoint brings scales for an FP8 KV cache, which `auto` then uses."""

    @property
    def width_known(self) -> bool:
        """Whether the file says how wide its weights are; else they are billed at 16 bits."""
        return self.bits < _UNQUANTIZED

    @property
    def least_capability(self) -> tuple[int, int]:
        """The oldest CUDA generation that runs it."""
        return _LEAST_CAPABILITY.get(self.method, (7, 0))


def quantization_of(cfg: Config) -> Quantization | None:
    """From `quantization_config`, None where the checkpoint is not quantised."""
    found = cfg.get("quantization_config") or cfg.get("compression_config")
    if not isinstance(found, Mapping):
        return None
    named = " ".join(str(found.get(key) or "") for key in ("quant_method", "quant_algo", "format")).lower().strip()
    method = str(found.get("quant_method") or found.get("quant_algo") or "unknown").lower()[:40]
    kept = _kept(found) if method != "mxfp4" else frozenset(_KEPT)
    kv_fp8 = _kv_fp8(found)
    expert_bits = 4.25 if str(cfg.get("expert_dtype") or "").lower() in {"fp4", "mxfp4"} else None
    block = found.get("weight_block_size")
    if isinstance(block, list) and block and _count(block[0]):
        return Quantization(method, 8.0, block[0], True, expert_bits, kept, kv_fp8)
    if "mxfp4" in named:
        return Quantization("mxfp4", 4.25, None, False, expert_bits, kept, kv_fp8)
    if "fp4" in named:
        return Quantization("nvfp4", 4.5, None, False, expert_bits, kept, kv_fp8)
    bits = _bits(found)
    if "fp8" in named or "float-quantized" in named:
        return Quantization(method, 8.0, None, True, expert_bits, kept, kv_fp8)
    group = _group_size(found)
    granule = 128 if "gptq" in method else None
    return Quantization(method, bits + (16 / group if group else 0.0), granule, False, expert_bits, kept, kv_fp8)


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 65_536


def _width(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and 0 < value <= _MOST_BITS else None


def _groups(found: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    groups = found.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            yield weights


def _bits(found: Mapping[str, Any]) -> float:
    widths = [_width(found.get(name)) for name in ("bits", "w_bit", "weight_bits")]
    widths += [_width(group.get("num_bits")) for group in _groups(found)]
    return max((width for width in widths if width is not None), default=_UNQUANTIZED)


def _group_size(found: Mapping[str, Any]) -> int | None:
    sizes = [found.get("group_size"), *(group.get("group_size") for group in _groups(found))]
    return next((size for size in sizes if _count(size)), None)


def _kept(found: Mapping[str, Any]) -> frozenset[str]:
    """Parts that the list of exceptions names for whole layers, by regular expression or by more than one entry."""
    for name in ("ignore", "modules_to_not_convert", "exclude_modules", "ignored_layers"):
        entries = found.get(name)
        if isinstance(entries, list) and entries:
            break
    else:
        return frozenset()
    layers = [str(entry) for entry in entries if not any(part in str(entry) for part in ("visual", "vision", "mtp"))]
    counts = {part: sum(any(word in entry for word in words) for entry in layers) for part, words in _KEPT.items()}
    return frozenset(
        part
        for part, words in _KEPT.items()
        if counts[part] > 1 or any(any(word in e for word in words) and ("re:" in e or "*" in e) for e in layers)
    )


def _kv_fp8(found: Mapping[str, Any]) -> bool:
    if str(found.get("kv_cache_quant_algo") or "").upper() == "FP8":
        return True
    scheme = found.get("kv_cache_scheme")
    return isinstance(scheme, Mapping) and scheme.get("num_bits") == 8
