"""What a rank holds for good: the usable share of the GPU and the weights. All figures are bytes."""

import math

from inference_fleet.catalog.models import ModelFacts
from inference_fleet.catalog.weights import part_bits

ELEMENT = 2
"""Bytes of an activation or of an unquantised weight: 16 bits."""
_MX_HIDDEN, _MX_INTERMEDIATE = 256, 128
"""MXFP4 kernels pad a rank's experts to multiples of these: gpt-oss loads 8 % more than its experts' bytes."""


def requested(gpu_bytes: int, utilization: float) -> int:
    """What the engine may use of a GPU, as vLLM rounds it."""
    return math.ceil(gpu_bytes * utilization)


def weights(facts: ModelFacts, tp: int, *, whole_encoder: bool = False) -> int:
    """Weights of one rank: a share of all, and what every rank keeps whole.

    Projections, experts, embeddings and output layer are split. Norms, routers, down-projections to latents, indexers
    and rotary tables are not; with more ranks than KV heads each rank keeps one whole KV head's projections; decoding
    with latents keeps the up-projections a second time in 16 bits.
    """
    parts = facts.parameters
    attention = part_bits(facts.quantization, "attention")
    whole = parts.whole * attention / 8 + parts.plain * ELEMENT + (parts.encoders * ELEMENT if whole_encoder else 0)
    keys = parts.kv_projections * attention / 8
    held = facts.rotary_len * facts.rotary_dim * ELEMENT + parts.absorbed * ELEMENT / tp
    surplus = max(0.0, keys / min(tp, facts.kv_heads) - keys / tp)
    split = max(0.0, facts.weights_bytes - whole) / tp
    return math.ceil(split + whole + surplus + held + padding(facts, tp))


def draft_weights(facts: ModelFacts, tp: int, *, own: bool) -> int:
    """Weights of a drafter on one rank: the checkpoint's `own` layers, else one more layer that joins two inputs.

    Embedding and output layer are the model's.
    """
    if own:
        return facts.draft_bytes // tp
    parts = facts.parameters
    layer = (parts.attention + parts.kv_projections + parts.mlp) // facts.layers + 2 * facts.hidden_size**2
    return layer * ELEMENT // tp


def padding(facts: ModelFacts, tp: int) -> float:
    """Bytes by which MXFP4 experts grow when their matrices are padded for the kernel."""
    if facts.quantization is None or facts.quantization.method != "mxfp4" or not facts.experts:
        return 0.0
    hidden, width = facts.hidden_size, max(1, facts.moe_intermediate_size // tp)
    grown = _up(hidden, _MX_HIDDEN) * _up(width, _MX_INTERMEDIATE) / (hidden * width) - 1
    return facts.parameters.experts * part_bits(facts.quantization, "experts") / 8 / tp * grown


def _up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
