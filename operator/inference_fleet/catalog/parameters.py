"""How many parameters a model has, by how they are stored and how tensor parallelism spreads them.

Counted from the shapes, as the model classes of vLLM build their layers: what is split over the ranks, what every rank
keeps whole, what stays in 16 bits in a quantised checkpoint, and what is in the checkpoint but loaded only for
speculative decoding.
"""

from dataclasses import dataclass

from inference_fleet.catalog.encoders import encoder_parameters
from inference_fleet.catalog.experts import Experts
from inference_fleet.catalog.layers import Attention, AttentionLayers
from inference_fleet.catalog.model_config import Config


@dataclass(frozen=True, slots=True)
class Parameters:
    """Elements of the weights. All but `experts`, `kv_heads` and the whole ones are split evenly over the ranks."""

    attention: int
    """Projections of attention and of linear layers."""
    kv_projections: int
    """Projections to keys and values: split as far as there are KV heads."""
    whole: int
    """Projections that every rank keeps: down to the latents, indexers."""
    mlp: int
    shared_experts: int
    experts: int
    embeddings: int
    """Embedding and output layer, in 16 bits."""
    encoders: int
    plain: int
    """Norms and routers: kept whole, in 16 bits."""
    absorbed: int
    """MLA: the up-projections once more, in 16 bits, as decoding uses them."""
    draft_layer: int
    """One layer for multi-token prediction."""
    draft_layers: int
    """How many of them the checkpoint has, by its configuration."""

    @property
    def total(self) -> int:
        """The model without its draft layers."""
        return (
            self.attention
            + self.kv_projections
            + self.whole
            + self.mlp
            + self.shared_experts
            + self.experts
            + self.embeddings
            + self.encoders
            + self.plain
        )


@dataclass(frozen=True, slots=True)
class Widths:
    """The dimensions that parameters are counted from."""

    layers: int
    hidden: int
    heads: int
    head_dim: int
    vocabulary: int
    intermediate: int
    matrices: int
    """Of an MLP: 3 with a gate, else 2."""
    tied: bool


def count_parameters(
    cfg: Config, widths: Widths, groups: tuple[AttentionLayers, ...], experts: Experts | None
) -> Parameters:
    """The parameters of a model."""
    hidden, layers = widths.hidden, widths.layers
    attention = kv = whole = absorbed = 0
    for group in groups:
        split, keys, kept, copies = _attention(cfg, widths, group)
        attention, kv, whole, absorbed = attention + split, kv + keys, whole + kept, absorbed + copies
    dense = layers if experts is None else experts.dense_layers
    dense -= sum(group.count for group in groups) if _alone(cfg) else 0
    mlp = max(0, dense) * widths.matrices * hidden * widths.intermediate
    sparse = 0 if experts is None else experts.layers
    one = 0 if experts is None else widths.matrices * hidden * experts.width
    shared = 0 if experts is None else sparse * widths.matrices * hidden * experts.shared
    routed = 0 if experts is None else sparse * experts.count * one
    router = 0 if experts is None else sparse * experts.count * hidden
    per_layer = (attention + kv + whole) // max(1, layers) + (
        widths.matrices * hidden * widths.intermediate
        if experts is None
        else experts.count * one + widths.matrices * hidden * experts.shared
    )
    drafts = cfg.optional("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules") or 0
    return Parameters(
        attention=attention,
        kv_projections=kv,
        whole=whole,
        mlp=mlp,
        shared_experts=shared,
        experts=routed,
        embeddings=widths.vocabulary * hidden * (1 if widths.tied else 2) + _extra_embeddings(cfg, layers),
        encoders=encoder_parameters(cfg, hidden),
        plain=(2 * layers + 1) * hidden + router,
        absorbed=absorbed,
        draft_layer=per_layer + 2 * hidden * hidden,
        draft_layers=drafts,
    )


def _alone(cfg: Config) -> bool:
    """Whether an attention layer has no MLP: Nemotron-H counts mixers and MLPs as layers of their own."""
    blocks = cfg.get("layers_block_type")
    return isinstance(cfg.get("hybrid_override_pattern"), str) or (isinstance(blocks, list) and "moe" in blocks)


def _extra_embeddings(cfg: Config, layers: int) -> int:
    """Per-layer input embeddings (Gemma 3n and 4 E-models)."""
    width, words = cfg.optional("hidden_size_per_layer_input"), cfg.optional("vocab_size_per_layer_input")
    return layers * width * words if width and words else 0


def _attention(cfg: Config, widths: Widths, group: AttentionLayers) -> tuple[int, int, int, int]:
    """Parameters of a group: split, split by KV heads, kept whole, and absorbed copies."""
    hidden, heads = widths.hidden, widths.heads
    if group.kind is Attention.MLA:
        split, kept, copies = _latent(cfg, widths, group)
        return split, 0, kept, copies
    if group.kind is Attention.COMPRESSED:
        rank = cfg.optional("q_lora_rank") or 1024
        output = (cfg.optional("o_lora_rank") or 1024) * (cfg.optional("o_groups") or 8)
        each = rank * heads * group.key_dim + heads * group.key_dim * output // (cfg.optional("o_groups") or 8)
        return group.count * (each + output * hidden), 0, group.count * hidden * (rank + group.key_dim), 0
    if group.kind is Attention.LINEAR:
        projected = group.state.projected if group.state else 4 * hidden
        return group.count * hidden * projected, 0, 0, 0
    # queries and output per head; a gate on the output doubles the queries (Qwen3-Next)
    gated = 2 if cfg.flag("attn_output_gate") else 1
    query = hidden * heads * group.key_dim * gated + heads * group.value_dim * hidden
    shared_key = 1 if cfg.flag("attention_k_eq_v") and group.kind is Attention.FULL else 2
    keys = hidden * group.kv_heads * (group.key_dim if shared_key == 1 else group.key_dim + group.value_dim)
    return group.count * query, group.count * keys, 0, 0


def _latent(cfg: Config, widths: Widths, group: AttentionLayers) -> tuple[int, int, int]:
    hidden, heads = widths.hidden, widths.heads
    latent, rope = cfg.optional("kv_lora_rank") or 0, cfg.optional("qk_rope_head_dim") or 0
    plain, value = cfg.optional("qk_nope_head_dim") or 128, cfg.optional("v_head_dim") or 128
    rank = cfg.optional("q_lora_rank")
    queries = (rank or hidden) * heads * (plain + rope)
    up = latent * heads * (plain + value)
    kept = hidden * (latent + rope) + (hidden * rank if rank else 0)
    indexer = 0
    if group.indexers:
        index_heads = cfg.optional("index_n_heads") or 64
        indexer = (rank or hidden) * index_heads * group.indexer_dim + hidden * (group.indexer_dim + index_heads)
    split = queries + up + heads * value * hidden
    return group.count * split, group.count * kept + group.indexers * indexer, group.count * up
