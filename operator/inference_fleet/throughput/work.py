"""What one step of a model costs in bytes and operations, derived from its shape alone.

A step reads every weight outside the experts, the experts that its tokens reach, and the KV cache of its sequences; it
computes two operations per active parameter and token. The layers' own geometry says how much of the past is read: all
of it, a window, one latent for all heads, or a constant state.
"""

from dataclasses import dataclass

from inference_fleet.catalog.models import Attention, AttentionLayers, ModelFacts, Quantization
from inference_fleet.catalog.weights import part_bits

ELEMENT = 2
"""Bytes of an activation and of an unquantised weight."""
_MOST_IN_EXPERTS = 0.98
"""A checkpoint always has attention and embeddings besides its experts."""


@dataclass(frozen=True, slots=True)
class ModelWork:
    """The work of a model. Weights are bytes of the whole model, parameters are counts per token."""

    layers: int
    hidden_size: int
    plain_bytes: float
    """Weights that every step reads: attention, shared experts, dense MLP, output layer."""
    plain_params: float
    """Parameters outside the experts that a prompt's token is multiplied with."""
    expert_bytes: float
    """Weights of all routed experts; 0 for a dense model."""
    expert_params: float
    """Parameters of the routed experts of one token."""
    experts: int
    experts_per_token: int
    weight_bits: float
    product_bits: int
    """Bits of the weights' own number format, 16 for integers: those are unpacked, as no GPU multiplies them."""
    plain_quantized: bool
    """Whether attention is of that format too, and not kept in 16 bits."""
    attention: tuple[AttentionLayers, ...]
    latent_layers: int
    query_width: int
    """Heads times their size: what attention multiplies per pair of tokens."""

    def touched(self, tokens: float, skew: float = 1.0) -> float:
        """The share of the expert weights that `tokens` reach.

        Uniform routing misses an expert with (1 - k/E) per token; real routing is skewed, so fewer are touched: `skew`
        below 1 counts each token as less than one independent draw.
        """
        if not self.experts:
            return 0.0
        miss = 1.0 - min(1.0, self.experts_per_token / self.experts)
        return 1.0 - miss ** max(1.0, tokens**skew) if tokens > 0 else 0.0

    def kv_bytes(self, tokens: float, tp: int, element: float) -> float:
        """Bytes that one rank keeps of a sequence of `tokens` and reads in a step, constant states included."""
        kept = 0.0
        for group in self.attention:
            kept += _row(group, tp) * element * _seen(group, tokens)
            kept += group.count * group.state.size(tp) if group.state else 0
        return kept

    def pairs(self, tokens: float, past: float) -> float:
        """Pairs of tokens, over all layers, that a prompt's chunk of `tokens` after `past` attends to."""
        total = 0.0
        for group in self.attention:
            if group.kind is not Attention.LINEAR:
                seen = past + tokens / 2
                total += group.count * tokens * min(seen, group.window or seen)
        return total


def model_work(facts: ModelFacts) -> ModelWork:
    """The work of a model. Where the store was not read, the bytes are as rough as the weights of the facts."""
    parts, quantization = facts.parameters, facts.quantization
    expert_bytes = min(parts.experts * part_bits(quantization, "experts") / 8, _MOST_IN_EXPERTS * facts.weights_bytes)
    embedding = facts.vocab_size * facts.hidden_size * ELEMENT
    idle = parts.encoders * ELEMENT + (0 if facts.tied_embeddings else embedding)
    plain = parts.attention + parts.kv_projections + parts.whole + parts.mlp + parts.shared_experts + parts.plain
    return ModelWork(
        layers=facts.layers,
        hidden_size=facts.hidden_size,
        plain_bytes=max(facts.weights_bytes - expert_bytes - idle, embedding),
        plain_params=float(plain),
        expert_bytes=expert_bytes,
        expert_params=parts.experts * facts.experts_per_token / facts.experts if facts.experts else 0.0,
        experts=facts.experts,
        experts_per_token=facts.experts_per_token,
        weight_bits=quantization.bits if quantization else 8.0 * ELEMENT,
        product_bits=_product_bits(quantization),
        plain_quantized=part_bits(quantization, "attention") < 8 * ELEMENT,
        attention=facts.attention,
        latent_layers=sum(group.count for group in facts.attention if group.latent_dim),
        query_width=facts.attention_heads * facts.head_dim,
    )


def _product_bits(quantization: Quantization | None) -> int:
    if quantization is None:
        return 16
    return 8 if quantization.fp8 else 4 if "fp4" in quantization.method else 16


def _row(group: AttentionLayers, tp: int) -> int:
    """Elements of one token in one layer of one rank: a latent is kept whole by every rank, heads are split."""
    return group.latent_dim or max(1, group.kv_heads // tp) * (group.key_dim + group.value_dim)


def _seen(group: AttentionLayers, tokens: float) -> float:
    """Rows that the layers keep of `tokens`: all, a window, and beyond that one for several tokens."""
    near = group.count * min(tokens, group.window or tokens)
    return near + sum(tokens / ratio for ratio in group.compression if ratio)
