"""What a model's files say about its shape: read once from `config.json` and the weights' index, then only facts.

Attention is a tuple of groups of equal layers, each of a kind with its own geometry, so that mixed architectures are
more groups and not another code path. Dense models with full attention are exact; what is only roughly known is
named in `approximations` and billed on the safe side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from inference_fleet.catalog.model_config import Config, ModelConfigError
from inference_fleet.catalog.quantization import Quantization, quantization_of
from inference_fleet.catalog.rope import model_lengths
from inference_fleet.catalog.weights import estimated_weights, stored_weights

__all__ = ["Attention", "AttentionLayers", "ModelConfigError", "ModelFacts", "Quantization", "model_facts"]

_MOST_HEADS = 4096
"""Far above any model; legal sizes are listed by walking them."""


class Attention(StrEnum):
    """How a layer remembers the past."""

    FULL = "full"
    SLIDING = "sliding"
    MLA = "mla"
    LINEAR = "linear"


@dataclass(frozen=True, slots=True)
class AttentionLayers:
    """Equal layers of one kind."""

    kind: Attention
    count: int
    kv_heads: int = 0
    key_dim: int = 0
    value_dim: int = 0
    latent_dim: int = 0
    """MLA: one latent and the rotary part of the key, kept once for all heads."""
    window: int | None = None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model's shape. Dimensions are elements, weights are bytes on the GPUs at tensor parallel size 1."""

    architecture: str
    attention: tuple[AttentionLayers, ...]
    attention_heads: int
    kv_heads: int
    head_dim: int
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    dtype: str
    quantization: Quantization | None
    tied_embeddings: bool
    default_len: int
    """Length that the engine takes if not told."""
    longest_len: int
    """Length above which the engine refuses."""
    rotary_len: int
    """Positions of the rotary tables."""
    weights_bytes: int
    weights_estimated: bool
    experts: int = 0
    experts_per_token: int = 0
    moe_intermediate_size: int = 0
    shared_expert_size: int = 0
    gated_mlp: bool = True
    approximations: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """All layers."""
        return sum(group.count for group in self.attention)

    @property
    def expert_width(self) -> int:
        """The intermediate size that tensor parallelism splits: of an expert where there are experts."""
        return self.moe_intermediate_size if self.experts else self.intermediate_size


def model_facts(
    config: Mapping[str, Any], index: Mapping[str, Any] | None, weight_files: Mapping[str, int]
) -> ModelFacts:
    """Facts from a parsed `config.json`, the parsed `model.safetensors.index.json` and the sizes of weight files.

    Without either of the last two the weights are estimated from the shapes. Raises ModelConfigError with a sentence
    that names the field where the configuration cannot be a model's.
    """
    cfg = Config(config)
    heads = cfg.count("num_attention_heads", "n_head", "n_heads", "num_heads")
    if heads > _MOST_HEADS:
        raise ModelConfigError(f"config.json: num_attention_heads is {heads}; at most {_MOST_HEADS} is right.")
    hidden = cfg.count("hidden_size", "n_embd", "d_model")
    kv_heads = _kv_heads(cfg, heads)
    head_dim = cfg.optional("head_dim", "kv_channels", "attention_head_dim") or max(1, hidden // heads)
    default_len, longest_len, rotary_len = model_lengths(cfg)
    attention, approximations = _attention(cfg, kv_heads, head_dim)
    experts = cfg.optional("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts") or 0
    width = cfg.optional("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim") or 4 * hidden
    if experts:
        approximations = (*approximations, f"{experts} experts")
    if cfg.multimodal:
        approximations = (*approximations, "encoders of other inputs than text")
    facts = ModelFacts(
        architecture=cfg.architecture,
        attention=attention,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        hidden_size=hidden,
        intermediate_size=width,
        vocab_size=cfg.count("vocab_size", "padded_vocab_size"),
        dtype=cfg.dtype,
        quantization=quantization_of(cfg),
        tied_embeddings=cfg.tied_embeddings,
        default_len=default_len,
        longest_len=longest_len,
        rotary_len=rotary_len,
        weights_bytes=0,
        weights_estimated=True,
        experts=experts,
        experts_per_token=cfg.optional("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k") or 1,
        moe_intermediate_size=cfg.optional("moe_intermediate_size", "ffn_hidden_size") or width,
        shared_expert_size=_shared_experts(cfg),
        gated_mlp=cfg.gated_mlp,
        approximations=approximations,
    )
    estimate = estimated_weights(facts)
    stored = stored_weights(facts, estimate, index, weight_files)
    return replace(facts, weights_bytes=stored or estimate, weights_estimated=stored is None)


def _kv_heads(cfg: Config, heads: int) -> int:
    if cfg.flag("multi_query") and not cfg.flag("new_decoder_architecture"):
        return 1
    given = cfg.optional("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    return given or heads


def _shared_experts(cfg: Config) -> int:
    shared = cfg.optional("shared_expert_intermediate_size")
    if shared:
        return shared
    return (cfg.optional("n_shared_experts") or 0) * (cfg.optional("moe_intermediate_size") or 0)


def _attention(cfg: Config, kv_heads: int, head_dim: int) -> tuple[tuple[AttentionLayers, ...], tuple[str, ...]]:
    """The groups of layers, and what is only roughly known of them."""
    total = cfg.count("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    latent = cfg.optional("kv_lora_rank")
    if latent:
        rope = cfg.optional("qk_rope_head_dim") or 0
        return (AttentionLayers(Attention.MLA, total, latent_dim=latent + rope),), ("latent attention",)
    linear = cfg.linear_layers(total)
    window = cfg.optional("sliding_window", "attention_chunk_size")
    sliding = cfg.sliding_layers(total, total - linear) if window else 0
    key_dim, value_dim = max(head_dim, cfg.optional("global_head_dim") or 0), head_dim
    value_dim = max(value_dim, key_dim)
    groups = (
        AttentionLayers(Attention.FULL, total - linear - sliding, kv_heads, key_dim, value_dim),
        AttentionLayers(Attention.SLIDING, sliding, kv_heads, head_dim, head_dim, window=window),
        AttentionLayers(Attention.LINEAR, linear),
    )
    rough = []
    if sliding:
        rough.append(f"{sliding} sliding-window layers, billed as full attention")
    if linear:
        rough.append(f"{linear} layers with a constant state, which is not billed")
    return tuple(group for group in groups if group.count), tuple(rough)
