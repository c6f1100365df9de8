"""How a checkpoint stores its weights: bits per weight, and the granule that tensor parallelism must not cut."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference_fleet.catalog.model_config import Config


@dataclass(frozen=True, slots=True)
class Quantization:
    """A quantised checkpoint."""

    method: str
    bits: float
    """Bits per weight of the linear layers, scales included."""
    granule: int | None = None
    """A rank's share of the intermediate size must be a multiple of this."""
    fp8: bool = False


def quantization_of(cfg: Config) -> Quantization | None:
    """From `quantization_config`, None where the checkpoint is not quantised."""
    found = cfg.get("quantization_config") or cfg.get("compression_config")
    if not isinstance(found, Mapping):
        return None
    method = str(found.get("quant_method") or found.get("quant_algo") or "unknown").lower()
    block = found.get("weight_block_size")
    if isinstance(block, list) and block and isinstance(block[0], int) and block[0] > 0:
        return Quantization(method, 8.0, block[0], fp8=True)
    algorithm = f"{method} {found.get('quant_algo') or ''} {found.get('format') or ''}".lower()
    if "fp4" in algorithm:
        return Quantization(method, 4.25 if "mxfp4" in algorithm else 4.5)
    if "fp8" in algorithm or "float-quantized" in algorithm:
        return Quantization(method, 8.0, fp8=True)
    bits = _bits(found)
    group = found.get("group_size")
    scales = 16 / group if isinstance(group, int) and group > 0 else 0.0
    return Quantization(method, bits + scales, 128 if method == "gptq" else None)


def _bits(found: Mapping[str, Any]) -> float:
    for name in ("bits", "w_bit", "weight_bits"):
        if isinstance(found.get(name), int):
            return float(found[name])
    groups = found.get("config_groups")
    if isinstance(groups, Mapping):
        widths = [_group_bits(group) for group in groups.values()]
        return float(max(widths, default=16))
    return 16.0


def _group_bits(group: Any) -> int:
    weights = group.get("weights") if isinstance(group, Mapping) else None
    bits = weights.get("num_bits") if isinstance(weights, Mapping) else None
    return bits if isinstance(bits, int) else 16
