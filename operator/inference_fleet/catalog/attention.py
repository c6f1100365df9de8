"""From `config.json` to the groups of layers that keep something of the past, and what of it is not known."""

from collections import Counter

from inference_fleet.catalog.layerkinds import double_layers, layer_kinds
from inference_fleet.catalog.layers import Attention, AttentionLayers
from inference_fleet.catalog.model_config import Config
from inference_fleet.catalog.states import linear_state

_WHOLE_HEADS = ("minicpm3",)
"""Families with latent attention of which the engine caches whole heads all the same."""
_ENCODERS = ("Bert", "Roberta", "ModernBert", "GteModel", "NomicBert", "ViT", "CLIP", "Siglip")

_SPARSE = ("glmmoedsa", "deepseekv32")
"""Families whose latent attention always has an indexer, where a file leaves its fields to the defaults."""
_INDEX_DIM = 128

Groups = tuple[AttentionLayers, ...]


def attention_layers(
    cfg: Config, total: int, heads: int, kv_heads: int, head_dim: int
) -> tuple[Groups, tuple[str, ...]]:
    """The groups of layers, and what is not known of them: named, and billed on the safe side."""
    if cfg.architecture.startswith(_ENCODERS) or any(name in cfg.architecture for name in ("Bert", "Roberta")):
        return (), ()
    compression = cfg.get("compress_ratios")
    if isinstance(compression, list) and compression:
        return _compressed(cfg, total, compression), ("compressed attention, whose blocks differ between releases",)
    kinds, unknown = layer_kinds(cfg, total)
    rough = [f"layers of kind {name!r}, billed as full attention" for name in unknown]
    counted = Counter(kinds)
    counted[Attention.LINEAR] += double_layers(cfg, total)
    groups: list[AttentionLayers] = []
    if cfg.optional("kv_lora_rank"):
        groups.append(_latent(cfg, counted[Attention.FULL], heads))
    else:
        groups += _heads(cfg, counted, kv_heads, head_dim)
    if counted[Attention.LINEAR]:
        state = linear_state(cfg, cfg.count("hidden_size", "n_embd", "d_model"), heads, head_dim)
        groups.append(AttentionLayers(Attention.LINEAR, counted[Attention.LINEAR], state=state))
        if state is None:
            rough.append(f"{counted[Attention.LINEAR]} layers with a constant state of unknown size, not billed")
    if cfg.get("is_encoder_decoder") is True:
        source = cfg.optional("max_source_positions", "max_encoder_position_embeddings", "max_position_embeddings")
        groups.append(AttentionLayers(Attention.CROSS, total, kv_heads, head_dim, head_dim, window=source or 1500))
    return tuple(group for group in groups if group.count), tuple(rough)


def _heads(cfg: Config, counted: Counter[Attention | None], kv_heads: int, head_dim: int) -> Groups:
    """Layers with keys and values per head; global ones may have a geometry of their own (Gemma 4, MiMo)."""
    window = cfg.optional("sliding_window", "attention_window_size")
    windowed = counted[Attention.SLIDING]
    global_dim = cfg.optional("global_head_dim") if windowed else None
    global_heads = cfg.optional("num_global_key_value_heads") if windowed else None
    value_dim = cfg.optional("v_head_dim") or head_dim
    local_heads = cfg.optional("swa_num_key_value_heads") or kv_heads
    local_dim = cfg.optional("swa_head_dim") or head_dim
    local_value = cfg.optional("swa_v_head_dim") or (local_dim if cfg.optional("swa_head_dim") else value_dim)
    chunk = cfg.optional("attention_chunk_size")
    full = counted[Attention.FULL] + (0 if window else windowed)
    return (
        AttentionLayers(
            Attention.FULL, full, global_heads or kv_heads, global_dim or head_dim, global_dim or value_dim
        ),
        AttentionLayers(
            Attention.SLIDING, windowed if window else 0, local_heads, local_dim, local_value, window=window
        ),
        AttentionLayers(Attention.CHUNKED, counted[Attention.CHUNKED], kv_heads, head_dim, head_dim, window=chunk),
    )


def _latent(cfg: Config, count: int, heads: int) -> AttentionLayers:
    latent, rope = cfg.optional("kv_lora_rank") or 0, cfg.optional("qk_rope_head_dim") or 0
    if cfg.family.startswith(_WHOLE_HEADS):
        key = (cfg.optional("qk_nope_head_dim") or 128) + rope
        return AttentionLayers(Attention.FULL, count, heads, key, key)
    sparse = cfg.optional("index_topk") or cfg.family.startswith(_SPARSE)
    dim = cfg.optional("index_head_dim") or _INDEX_DIM if sparse else None
    per_layer = 2 if cfg.family.startswith("longcat") else 1
    return AttentionLayers(
        Attention.MLA,
        count * per_layer,
        latent_dim=latent + rope,
        indexers=_indexers(cfg, count) if dim else 0,
        indexer_dim=dim or 0,
    )


def _indexers(cfg: Config, count: int) -> int:
    """Layers with an indexer of their own: the others use the choice of the one before (IndexShare).

    As in vLLM: the first `index_skip_topk_offset` layers, then every `index_topk_freq`-th.
    """
    kinds = cfg.get("indexer_types")
    if isinstance(kinds, list) and kinds:
        return sum(str(kind) == "full" for kind in kinds[:count])
    every, offset = cfg.optional("index_topk_freq") or 1, cfg.optional("index_skip_topk_offset") or 2
    return sum(max(layer - offset + 1, 0) % every == 0 for layer in range(count))


def _compressed(cfg: Config, total: int, ratios: list[object]) -> Groups:
    known = tuple(ratio if isinstance(ratio, int) and 0 <= ratio <= 65_536 else 0 for ratio in ratios[:total])
    dim = cfg.optional("head_dim") or 512
    return (
        AttentionLayers(
            Attention.COMPRESSED,
            total,
            kv_heads=1,
            key_dim=dim,
            window=cfg.optional("sliding_window", "window_size") or 128,
            indexer_dim=cfg.optional("index_head_dim") or 128,
            compression=known + (0,) * (total - len(known)),
        ),
    )
