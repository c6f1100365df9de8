"""The memory of one GPU, cause by cause, by the rules of vLLM's own profile run. All figures are bytes.

Weights and KV cache follow exactly from shapes. Activations, CUDA context, NCCL and CUDA graphs are what the engine
measures at start; here they are predicted with the constants below, read from public start-up logs of dense models.
"""

import math
from dataclasses import dataclass

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.gpus import GIB
from inference_fleet.catalog.models import Attention, AttentionLayers, ModelFacts

MIB = 1 << 20
ELEMENT = 2
"""Bytes of an activation or of an unquantised weight: 16 bits."""

CONTEXT = int(0.6 * GIB)
"""CUDA context, cuBLAS and attention workspaces, allocator slack: logs of 7-8B models with 2048 batched tokens show
0.76 to 0.85 GiB besides weights and KV cache, of which 0.2 GiB are activations."""

NCCL_PAIR = 342 * MIB
NCCL_MORE = 392 * MIB
"""Buffers of the collectives with two ranks, and with more (what aiconfigurator reserves)."""

GRAPH = MIB // 4
"""One CUDA graph of one layer: logs since 0.21 reserve 0.06 GiB for 78 layers and 2 sizes, 0.8 GiB for 64 and 51."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the profile run is made with."""

    tokens: int
    """max_num_batched_tokens"""
    seqs: int
    """max_num_seqs"""


def requested(gpu_bytes: int, utilization: float) -> int:
    """What the engine may use of a GPU, as vLLM rounds it."""
    return math.ceil(gpu_bytes * utilization)


def weights(facts: ModelFacts, tp: int) -> int:
    """Weights of one rank: a share of all, and what every rank keeps whole.

    Projections, experts, embeddings and output layer are split. Norms and rotary tables are not, and with more ranks
    than KV heads each rank keeps one whole KV head's projections.
    """
    norms = (2 * facts.layers + 1) * facts.hidden_size * ELEMENT
    rotary = facts.rotary_len * facts.head_dim * ELEMENT
    bits = facts.quantization.bits if facts.quantization else 8 * ELEMENT
    surplus = max(1, facts.kv_heads // tp) - facts.kv_heads / tp
    replicated = int(surplus * 2 * facts.hidden_size * facts.head_dim * facts.layers * bits / 8)
    return math.ceil((facts.weights_bytes - norms) / tp) + norms + rotary + replicated


def activations(facts: ModelFacts, tp: int, batch: Batch, version: EngineVersion) -> int:
    """Peak of one profile forward: its widest layer over all batched tokens, or the sampler over all sequences.

    A layer holds the residual and the layer's input and output (3 x hidden) and either queries, keys, values and the
    attention's result, or gate, up and their product (3 x intermediate). Both are split over the ranks; the logits of
    the whole vocabulary are gathered on every rank.
    """
    attention = 2 * (facts.attention_heads + facts.kv_heads) * facts.head_dim
    if facts.experts:
        width = facts.experts_per_token * (3 * facts.moe_intermediate_size // tp + facts.hidden_size)
    else:
        width = 3 * facts.intermediate_size // tp
    forward = batch.tokens * ELEMENT * (3 * facts.hidden_size + max(attention // tp, width))
    sampler = batch.seqs * facts.vocab_size * version.bytes_per_logit
    return max(forward, sampler)


def overheads(
    facts: ModelFacts, tp: int, seqs: int, version: EngineVersion, *, eager: bool
) -> tuple[tuple[str, int], ...]:
    """What the engine takes besides, by cause."""
    nccl = 0 if tp == 1 else NCCL_PAIR if tp == 2 else NCCL_MORE
    graphs = facts.layers * capture_sizes(seqs) * GRAPH if version.counts_graphs and not eager else 0
    parts = (("CUDA context", CONTEXT), ("NCCL", nccl), ("CUDA graphs", graphs))
    return tuple(part for part in parts if part[1])


def capture_sizes(seqs: int) -> int:
    """How many batch sizes are captured: 1, 2, 4, by 8 up to 256, by 16 up to 512; at most twice `seqs`."""
    most = min(2 * seqs, 512)
    sizes = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))
    return sum(size <= most for size in sizes)


def kv_bytes_per_token(facts: ModelFacts, tp: int, element: int) -> int:
    """KV cache of one token on one rank. `element` is the bytes of the KV dtype."""
    return sum(group.count * _kv_elements(group, tp) for group in facts.attention) * element


def _kv_elements(group: AttentionLayers, tp: int) -> int:
    match group.kind:
        case Attention.MLA:
            return group.latent_dim  # one latent for all heads: every rank keeps it whole
        case Attention.LINEAR:
            return 0
        case _:
            return max(1, group.kv_heads // tp) * (group.key_dim + group.value_dim)
