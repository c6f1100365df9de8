"""The bytes of a model's weights: what the store holds, or an estimate from the shapes.

Only what the index names is loaded: repositories that ship a second copy (`original/`, `metal/`) would double a sum
over all files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inference_fleet.catalog.models import ModelFacts

LOADED_BYTES = 2
"""Bytes of an unquantised weight on the GPU: the engine casts float32 checkpoints to 16 bits."""
_MOST_BYTES = 1 << 50


def stored_weights(
    facts: ModelFacts, estimate: int, index: Mapping[str, Any] | None, weight_files: Mapping[str, int]
) -> int | None:
    """Bytes of the stored weights as loaded, None where the store says nothing of them."""
    stored = _indexed(index, weight_files) if index is not None else _unindexed(weight_files)
    if not stored:
        return None
    if facts.quantization is None and facts.dtype == "float32":
        stored //= 2
    embedding = facts.vocab_size * facts.hidden_size * LOADED_BYTES
    if (
        facts.tied_embeddings
        and facts.quantization is None
        and not facts.experts
        and stored > estimate + 0.9 * embedding
    ):
        stored -= embedding  # a tied checkpoint that stores the output layer too: it is not loaded
    return stored


def _indexed(index: Mapping[str, Any], weight_files: Mapping[str, int]) -> int:
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    if isinstance(total, int | float) and 0 < total < _MOST_BYTES:
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
    """Bytes of the weights by the shapes: projections, MLP or experts, norms and embeddings."""
    bits = facts.quantization.bits if facts.quantization else 8.0 * LOADED_BYTES
    queries = 2 * facts.hidden_size * facts.attention_heads * facts.head_dim
    keys_and_values = 2 * facts.hidden_size * facts.kv_heads * facts.head_dim
    matrices = 3 if facts.gated_mlp else 2
    if facts.experts:
        width = facts.experts * facts.moe_intermediate_size + facts.shared_expert_size
    else:
        width = facts.intermediate_size
    mlp = matrices * facts.hidden_size * width
    linear = facts.layers * (queries + keys_and_values + mlp)
    embeddings = facts.vocab_size * facts.hidden_size * (1 if facts.tied_embeddings else 2)
    plain = embeddings + (2 * facts.layers + 1) * facts.hidden_size
    return int(linear * bits / 8) + plain * LOADED_BYTES
