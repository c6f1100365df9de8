"""Which kind each layer of a hybrid is, from the many spellings of `config.json`."""

from collections.abc import Sequence

from inference_fleet.catalog.layers import Attention
from inference_fleet.catalog.model_config import Config

Kind = Attention | None
"""None: the layer keeps nothing (an MLP of its own, or keys shared with another layer)."""

_NAMES: dict[str, Kind] = {
    **dict.fromkeys(("full_attention", "attention", "full", "global", "hybrid", "*"), Attention.FULL),
    **dict.fromkeys(("sliding_attention", "sliding", "local", "local_attention"), Attention.SLIDING),
    "chunked_attention": Attention.CHUNKED,
    **dict.fromkeys(
        ("linear_attention", "mamba", "mamba2", "kda", "gdn", "recurrent", "conv", "short_conv", "lightning", "m"),
        Attention.LINEAR,
    ),
    **dict.fromkeys(("mlp", "moe", "ffn", "-", "e"), None),
}
_ALTERNATING = {"gemma2": 2, "gptoss": 2, "cohere2": 4, "gemma3": 6, "exaone4": 4}
"""Every n-th layer is global where the file does not say: defaults of the families' configuration classes."""
_PARALLEL = ("falconh1", "hymba")
_RECURRENT = frozenset({"mamba", "mamba2", "falcon_mamba"})


def double_layers(cfg: Config, total: int) -> int:
    """Layers that have a constant state beside their attention: all of a Falcon-H1, some of a Zamba 2."""
    if cfg.family.startswith(_PARALLEL):
        return total
    blocks = cfg.get("layers_block_type")
    return blocks[:total].count("hybrid") if isinstance(blocks, list) else 0


def layer_kinds(cfg: Config, total: int) -> tuple[list[Kind], tuple[str, ...]]:
    """The kind of each layer that has its own cache, and names of kinds that are not known (billed as full)."""
    kinds, unknown = _listed(cfg, total)
    if not kinds:
        kinds = _linear(cfg, total)
    if not any(kind in (Attention.SLIDING, Attention.CHUNKED) for kind in kinds):
        kinds = _windowed(cfg, kinds)
    shared = cfg.optional("num_kv_shared_layers") or 0
    own = len(kinds) - min(shared, len(kinds))
    return kinds[:own] + [None] * (len(kinds) - own), unknown


def _listed(cfg: Config, total: int) -> tuple[list[Kind], tuple[str, ...]]:
    for name in ("layer_types", "layers_block_type"):
        value = cfg.get(name)
        if isinstance(value, list) and value:
            return _named([str(item).lower() for item in value[:total]], total)
    windows = cfg.get("hybrid_layer_pattern")
    if isinstance(windows, list) and windows:
        return [Attention.SLIDING if flag else Attention.FULL for flag in windows[:total]], ()
    pattern = cfg.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return _named(list(pattern[:total].lower()), total)
    flags = cfg.get("attn_type_list")
    if isinstance(flags, list) and flags:
        return [Attention.FULL if flag else Attention.LINEAR for flag in flags[:total]], ()
    return [], ()


def _named(names: Sequence[str], total: int) -> tuple[list[Kind], tuple[str, ...]]:
    unknown = tuple(sorted({name[:40] for name in names if name not in _NAMES}))
    kinds = [_NAMES.get(name, Attention.FULL) for name in names]
    return kinds + [Attention.FULL] * (total - len(kinds)), unknown


def _linear(cfg: Config, total: int) -> list[Kind]:
    """Full attention, with a constant state where indices or an interval say so."""
    if cfg.model_type in _RECURRENT:
        return [Attention.LINEAR] * total
    linear = cfg.part("linear_attn_config").get("kda_layers")
    if isinstance(linear, list) and linear:
        return [Attention.LINEAR if number + 1 in linear else Attention.FULL for number in range(total)]
    for name in ("attn_layer_indices", "full_attn_idxs"):
        full = cfg.get(name)
        if isinstance(full, list) and full:
            return [Attention.FULL if number in full else Attention.LINEAR for number in range(total)]
    every = cfg.optional("full_attention_interval")
    if every:
        return [Attention.FULL if (number + 1) % every == 0 else Attention.LINEAR for number in range(total)]
    every = cfg.optional("attn_layer_period")
    if every:
        offset = cfg.optional("attn_layer_offset") or 0
        return [Attention.FULL if number % every == offset % every else Attention.LINEAR for number in range(total)]
    return [Attention.FULL] * total


def _windowed(cfg: Config, kinds: list[Kind]) -> list[Kind]:
    """Full layers that see a window only, by pattern, by family or all of them."""
    if cfg.optional("attention_chunk_size"):
        roped = cfg.get("no_rope_layers")
        every = cfg.optional("no_rope_layer_interval") or 4
        if not (isinstance(roped, list) and len(roped) >= len(kinds)):
            roped = [(number + 1) % every for number in range(len(kinds))]
        return [Attention.CHUNKED if flag else kind for kind, flag in zip(kinds, roped, strict=False)]
    if not cfg.optional("sliding_window") or cfg.get("use_sliding_window") is False or cfg.get("layer_types"):
        return kinds
    pattern = cfg.get("sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        local = [pattern[number % len(pattern)].upper() == "L" for number in range(len(kinds))]
    else:
        period = cfg.optional("sliding_window_pattern") or _alternating(cfg)
        local = [period is None or (number + 1) % period != 0 for number in range(len(kinds))]
    return [
        Attention.SLIDING if here and kind is Attention.FULL else kind for kind, here in zip(kinds, local, strict=True)
    ]


def _alternating(cfg: Config) -> int | None:
    return next((every for family, every in _ALTERNATING.items() if cfg.family.startswith(family)), None)
