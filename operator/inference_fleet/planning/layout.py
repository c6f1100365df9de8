"""From the layers of a model to the block pool of one rank."""

from dataclasses import dataclass, replace

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.layers import Attention, AttentionLayers
from inference_fleet.planning.compressed import compressed_layout
from inference_fleet.planning.kvcache import GROWING, KvLayout, LayerCache, grouped, uniform
from inference_fleet.planning.pages import KvDtype, indexer_bytes, token_bytes

_LATENT_BLOCK = 64
"""Latent kernels read blocks of 64 tokens; the block of a hybrid with latents is a multiple of it."""


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """What, besides the model, decides the layout."""

    tp: int
    dtype: KvDtype
    block: int
    in_flight: int
    version: EngineVersion
    prefix_caching: bool
    draft_layers: int = 0
    speculative_tokens: int = 0
    wide_heads_aligned: bool = False
    """Blackwell data-centre GPUs read heads of 256 in blocks of 32 tokens at least."""


def kv_layout(groups: tuple[AttentionLayers, ...], request: CacheRequest) -> KvLayout | None:
    """The pool of one rank, None for a model that keeps nothing."""
    if any(group.kind is Attention.COMPRESSED for group in groups):
        return compressed_layout(groups[0], request.version, request.in_flight, request.draft_layers)
    known = [_known_to(group, groups, request.version) for group in groups]
    caches = _merged([cache for group in known for cache in _caches(group, request)])
    states = [group for group in known if group.kind is Attention.LINEAR and group.state is not None]
    if states:
        caches = _with_states(caches, states, known, request)
    if not caches:
        return None
    if len({(cache.kind in GROWING, cache.kind not in GROWING and cache.kind, cache.window) for cache in caches}) == 1:
        return uniform(caches, request.version, request.in_flight)
    return grouped(caches, request.version, request.in_flight)


def _known_to(group: AttentionLayers, groups: tuple[AttentionLayers, ...], version: EngineVersion) -> AttentionLayers:
    """A windowed group as an engine keeps it that cannot free what is out of the window."""
    mixed = any(other.kind in GROWING for other in groups)
    windowed = group.kind is Attention.SLIDING and not version.groups_layers
    chunked = group.kind is Attention.CHUNKED and not version.groups_chunked
    return replace(group, kind=Attention.FULL, window=None) if mixed and (windowed or chunked) else group


def _caches(group: AttentionLayers, request: CacheRequest) -> list[LayerCache]:
    tokens = token_bytes(group, request.tp, request.dtype, request.version)
    if not tokens:
        return []
    block = max(request.block, _LATENT_BLOCK) if group.indexers else request.block
    count = group.count + (request.draft_layers if group.kind in GROWING else 0)
    caches = [LayerCache(group.kind, count, block, tokens * block, group.window or 0)]
    if group.indexers:
        drafts = request.draft_layers
        caches.append(LayerCache(group.kind, group.indexers + drafts, block, indexer_bytes(group) * block))
    return caches


def _merged(caches: list[LayerCache]) -> list[LayerCache]:
    """Equal caches as one: full layers that were windowed ones may have the geometry of the others."""
    counts: dict[LayerCache, int] = {}
    for cache in caches:
        counts[replace(cache, count=0)] = counts.get(replace(cache, count=0), 0) + cache.count
    return [replace(cache, count=count) for cache, count in counts.items()]


def _with_states(
    caches: list[LayerCache], states: list[AttentionLayers], groups: list[AttentionLayers], request: CacheRequest
) -> list[LayerCache]:
    """Attention blocks enlarged until a page holds a state, and states padded to that page."""
    state = max(group.state.size(request.tp, request.speculative_tokens) for group in states if group.state)
    copies = request.version.state_copies if request.prefix_caching else 1
    pages = copies + request.speculative_tokens
    per_token = max((cache.page // cache.block for cache in caches), default=0)
    if per_token:
        align = request.block
        if any(group.kind is Attention.MLA for group in groups):
            align = max(align, _LATENT_BLOCK)
        elif request.wide_heads_aligned and any(group.key_dim == 256 for group in groups):
            align = max(align, 32)
        block = align * -(-state // (align * per_token))
        caches = [replace(cache, block=block, page=cache.page // cache.block * block) for cache in caches]
        state = max(state, block * per_token)
    count = sum(group.count for group in states)
    return [*caches, LayerCache(Attention.LINEAR, count, request.block, state, states=pages)]
