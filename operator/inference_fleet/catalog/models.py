"""What a model's files say about its shape: read once from `config.json` and the weights' index, then only facts.

Every attention kind that the engine knows is a group of layers of its own. What is not known is named in
`approximations` and billed on the safe side.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inference_fleet.catalog.attention import attention_layers
from inference_fleet.catalog.encoders import Encoder, read_encoder
from inference_fleet.catalog.experts import read_experts
from inference_fleet.catalog.families import known_family
from inference_fleet.catalog.layers import Attention, AttentionLayers, State
from inference_fleet.catalog.model_config import Config, ModelConfigError
from inference_fleet.catalog.parameters import Parameters, Widths, count_parameters
from inference_fleet.catalog.quantization import Quantization, quantization_of
from inference_fleet.catalog.rope import model_lengths, rotary_dim
from inference_fleet.catalog.weights import draft_bytes, estimated_weights, stored_weights

__all__ = ["Attention", "AttentionLayers", "ModelConfigError", "ModelFacts", "Quantization", "State", "model_facts"]

_MOST_HEADS = 4096
"""Far above any model; legal sizes are listed by walking them."""
_MOST_LAYERS = 10_000


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A model's shape. Dimensions are elements, weights are bytes on the GPUs at tensor parallel size 1."""

    architecture: str
    attention: tuple[AttentionLayers, ...]
    layers: int
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
    rotary_dim: int
    parameters: Parameters
    weights_bytes: int
    weights_estimated: bool
    draft_bytes: int = 0
    """Weights of the checkpoint's own multi-token prediction, loaded for speculative decoding only."""
    encoder: Encoder | None = None
    experts: int = 0
    experts_per_token: int = 0
    moe_intermediate_size: int = 0
    shared_expert_size: int = 0
    linear_heads: tuple[int, ...] = ()
    """Heads of linear layers, all of which tensor parallelism splits."""
    up_projected_dim: int = 0
    """MLA: key and value of one head, as prefill unpacks them from the latent."""
    gated_mlp: bool = True
    approximations: tuple[str, ...] = ()

    @property
    def expert_width(self) -> int:
        """The intermediate size that tensor parallelism splits: of an expert where there are experts."""
        return self.moe_intermediate_size if self.experts else self.intermediate_size

    @property
    def latent(self) -> bool:
        """Whether a latent is cached for all heads together."""
        return any(group.kind in (Attention.MLA, Attention.COMPRESSED) for group in self.attention)

    @property
    def estimated(self) -> bool:
        """Whether something of the bill is a guess: an unknown architecture, unread weights."""
        return bool(self.approximations) or self.weights_estimated


def model_facts(
    config: Mapping[str, Any], index: Mapping[str, Any] | None, weight_files: Mapping[str, int]
) -> ModelFacts:
    """Facts from a parsed `config.json`, the parsed `model.safetensors.index.json` and the sizes of weight files.

    Without either of the last two the weights are estimated from the shapes. Raises ModelConfigError with a sentence
    that names the field where the configuration cannot be a model's.
    """
    cfg = Config(config)
    facts = _shape(cfg)
    estimate = estimated_weights(facts)
    stored = stored_weights(facts, estimate, index, weight_files)
    return replace(
        facts, weights_bytes=stored or estimate, weights_estimated=stored is None, draft_bytes=draft_bytes(facts)
    )


def _shape(cfg: Config) -> ModelFacts:
    widths = _widths(cfg)
    heads, hidden = widths.heads, widths.hidden
    kv_heads = _kv_heads(cfg, heads)
    attention, rough = attention_layers(cfg, widths.layers, heads, kv_heads, widths.head_dim)
    if not known_family(cfg):
        rough = (f"the architecture {cfg.architecture} is not known", *rough)
    quantization = quantization_of(cfg)
    if quantization is not None and not quantization.width_known:
        rough = (*rough, f"quantisation {quantization.method!r} of unknown width, billed at 16 bits")
    experts = read_experts(cfg, widths.layers, widths.intermediate)
    default_len, longest_len, rotary_len = model_lengths(cfg)
    up = (cfg.optional("qk_nope_head_dim") or 128) + (cfg.optional("v_head_dim") or 128)
    names = ("linear_num_key_heads", "linear_num_value_heads", "mamba_num_heads", "mamba_n_heads")
    linear = any(group.kind is Attention.LINEAR for group in attention)
    return ModelFacts(
        architecture=cfg.architecture,
        attention=attention,
        layers=widths.layers,
        attention_heads=heads,
        kv_heads=kv_heads,
        head_dim=widths.head_dim,
        hidden_size=hidden,
        intermediate_size=widths.intermediate,
        vocab_size=widths.vocabulary,
        dtype=cfg.dtype,
        quantization=quantization,
        tied_embeddings=widths.tied,
        default_len=default_len,
        longest_len=longest_len,
        rotary_len=rotary_len,
        rotary_dim=rotary_dim(cfg, widths.head_dim),
        parameters=count_parameters(cfg, widths, attention, experts),
        weights_bytes=0,
        weights_estimated=True,
        encoder=read_encoder(cfg),
        experts=experts.count if experts else 0,
        experts_per_token=experts.per_token if experts else 1,
        moe_intermediate_size=experts.width if experts else 0,
        shared_expert_size=experts.shared if experts else 0,
        linear_heads=tuple(value for name in names if linear and (value := cfg.optional(name))),
        up_projected_dim=up if any(group.kind is Attention.MLA for group in attention) else 0,
        gated_mlp=cfg.gated_mlp,
        approximations=rough,
    )


def _widths(cfg: Config) -> Widths:
    heads = cfg.optional("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads")
    hidden = cfg.count("hidden_size", "n_embd", "d_model")
    if heads is None:
        if not cfg.family.startswith(("mamba", "falconmamba")):
            cfg.count("num_attention_heads")
        heads = 1
    if heads > _MOST_HEADS:
        raise ModelConfigError(f"config.json: num_attention_heads is {heads}; at most {_MOST_HEADS} is right.")
    layers = cfg.count("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers")
    if layers > _MOST_LAYERS:
        raise ModelConfigError(f"config.json: num_hidden_layers is {layers}; at most {_MOST_LAYERS} is right.")
    return Widths(
        layers=layers,
        hidden=hidden,
        heads=heads,
        head_dim=cfg.optional("head_dim", "kv_channels", "attention_head_dim") or max(1, hidden // heads),
        vocabulary=cfg.count("vocab_size", "padded_vocab_size"),
        intermediate=cfg.optional("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "decoder_ffn_dim")
        or 4 * hidden,
        matrices=3 if cfg.gated_mlp else 2,
        tied=cfg.tied_embeddings,
    )


def _kv_heads(cfg: Config, heads: int) -> int:
    if cfg.flag("multi_query") and not cfg.flag("new_decoder_architecture"):
        return 1
    given = cfg.optional("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
    return min(given, heads * 64) if given else heads
