"""How long a model's requests may be: the engine's rules over `max_position_embeddings` and the rotary scaling.

vLLM multiplies by the factor of linear and dynamic scaling only; yarn and llama3 checkpoints state the scaled length.
LongRoPE models accept the long length but default to the one they were trained at.
"""

from collections.abc import Mapping
from typing import Any

from inference_fleet.catalog.model_config import Config

_LENGTHS = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx")
_UNSAID = 2048
"""What vLLM assumes for a configuration without any length."""
_MOST_FACTOR = 10_000


def model_lengths(cfg: Config) -> tuple[int, int, int]:
    """The default length, the longest accepted one and the positions of the rotary tables, in tokens."""
    base = cfg.optional(*_LENGTHS) or _UNSAID
    scaling = _scaling(cfg)
    kind = str(scaling.get("rope_type") or scaling.get("type") or "default")
    if kind in {"linear", "dynamic"}:
        factor = scaling.get("factor")
        longest = int(base * factor) if isinstance(factor, int | float) and 0 < factor < _MOST_FACTOR else base
        if cfg.family.startswith("gemma3"):  # states the scaled length, and builds tables for the factor all the same
            return base, base, longest
        return longest, longest, longest
    if kind in {"longrope", "su"}:
        trained = scaling.get("original_max_position_embeddings") or cfg.get("original_max_position_embeddings")
        return (trained if isinstance(trained, int) and trained > 0 else base), base, base
    return base, base, base


def _scaling(cfg: Config) -> Mapping[str, Any]:
    for name in ("rope_scaling", "rope_parameters"):
        value = cfg.get(name)
        if not isinstance(value, Mapping):
            continue
        if "rope_type" in value or "type" in value:
            return value
        nested = value.get("full_attention")
        if isinstance(nested, Mapping):
            return nested
    return {}


def rotary_dim(cfg: Config, head_dim: int) -> int:
    """Width of a row of the rotary table: the rotated part of a head."""
    rope = cfg.optional("qk_rope_head_dim") or cfg.optional("rotary_dim")
    if rope:
        return rope
    factor = cfg.get("partial_rotary_factor") or _scaling(cfg).get("partial_rotary_factor")
    return int(head_dim * factor) if isinstance(factor, int | float) and 0 < factor <= 1 else head_dim
