"""The bytes of a model's weights: what the store holds, or an estimate from the shapes.

Only what the index names is loaded: repositories that ship a second copy (`original/`, `metal/`) would double a sum
over all files. The layers for multi-token prediction are in the index and are loaded for speculative decoding only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inference_fleet.catalog.models import ModelFacts
    from inference_fleet.catalog.quantization import Quantization

LOADED_BYTES = 2
"""Bytes of an unquantised weight on the GPU: the engine casts float32 checkpoints to 16 bits."""
_MOST_BYTES = 1 << 50
_DRAFT = re.compile(r"(^|\.)(mtp|nextn)")


def stored_weights(
    facts: ModelFacts, estimate: int, index: Mapping[str, Any] | None, weight_files: Mapping[str, int]
) -> int | None:
    """Bytes of the stored weights as loaded, None where the store says nothing of them."""
    stored = _indexed(index, weight_files) if index is not None else _unindexed(weight_files)
    if not stored:
        return None
    if facts.quantization is None and facts.dtype == "float32":
        stored //= 2
    drafts = max(draft_bytes(facts), draft_bytes(facts, 1)) if _has_drafts(facts, index) else 0
    if stored > estimate * 0.9 + drafts:
        stored -= drafts
    embedding = facts.vocab_size * facts.hidden_size * LOADED_BYTES
    if (
        facts.tied_embeddings
        and facts.quantization is None
        and not facts.experts
        and not facts.parameters.encoders
        and stored > estimate + 0.9 * embedding
    ):
        stored -= embedding  # a tied checkpoint that stores the output layer too: it is not loaded
    return stored


def _has_drafts(facts: ModelFacts, index: Mapping[str, Any] | None) -> bool:
    """Whether the store holds draft layers: by name where names are there, else as the configuration says."""
    names = index.get("weight_map") if index is not None else None
    if not isinstance(names, Mapping) or not names:
        return facts.parameters.draft_layers > 0
    beyond = f"layers.{facts.layers}."
    return any(isinstance(name, str) and (_DRAFT.search(name) or beyond in name) for name in names)


def _indexed(index: Mapping[str, Any], weight_files: Mapping[str, int]) -> int:
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if isinstance(total, int | float) and not isinstance(total, bool) and 0 < total < _MOST_BYTES:
        return int(total)
    names = index.get("weight_map")
    named = {name for name in names.values() if isinstance(name, str)} if isinstance(names, Mapping) else set()
    return sum(size for name, size in weight_files.items() if name in named)


def _unindexed(weight_files: Mapping[str, int]) -> int:
    top = {name: size for name, size in weight_files.items() if "/" not in name and name.endswith(".safetensors")}
    if "model.safetensors" in top:
        return top["model.safetensors"]
    return sum(top.values())


def estimated_weights(facts: ModelFacts) -> int:
    """Bytes of the weights by the shapes."""
    parts = facts.parameters
    bits = 0.0
    for count, part in (
        (parts.attention + parts.kv_projections + parts.whole, "attention"),
        (parts.mlp, "mlp"),
        (parts.shared_experts, "shared_experts"),
        (parts.experts, "experts"),
    ):
        bits += count * part_bits(facts.quantization, part)
    plain = parts.embeddings + parts.encoders + parts.plain
    return int(bits / 8) + plain * LOADED_BYTES


def draft_bytes(facts: ModelFacts, layers: int | None = None) -> int:
    """Bytes of the multi-token-prediction layers of the checkpoint, or of as many `layers`."""
    count = facts.parameters.draft_layer * (facts.parameters.draft_layers if layers is None else layers)
    return int(count * part_bits(facts.quantization, "experts" if facts.experts else "mlp") / 8)


def part_bits(quantization: Quantization | None, part: str) -> float:
    """Bits per weight of a part of the layers."""
    if quantization is None or part in quantization.kept:
        return 8.0 * LOADED_BYTES
    if part == "experts" and quantization.expert_bits is not None:
        return quantization.expert_bits
    return quantization.bits
