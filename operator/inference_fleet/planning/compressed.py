"""The block pool of compressed sparse attention (DeepSeek-V4): a window in every layer, latents of several tokens.

vLLM keeps five caches and shares them over one pool of layer tuples: latents and indexer keys in blocks of 256 tokens,
windows in blocks of 64, and the compressors' float32 partial states in blocks of 4 and 8. Pages are padded to 576
bytes. Releases differ in how many tokens in flight they reserve, so a printed capacity may be some per cent off.
"""

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.layers import Attention, AttentionLayers
from inference_fleet.planning.kvcache import KvLayout, LayerCache

_BLOCK, _WINDOW_BLOCK = 256, 64
_ROW = 584
"""Bytes of a latent: 448 FP8 values, 64 rotary values in 16 bits, 8 scales."""
_ALIGN = 576
_FINE = 4
"""The ratio at which layers have an indexer and overlap their groups."""
_STATE_BLOCKS = {True: 4, False: 8}


def compressed_layout(group: AttentionLayers, version: EngineVersion, in_flight: int, drafts: int) -> KvLayout:
    """The pool of one rank; nothing of it is split over the ranks."""
    fine = sum(ratio == _FINE for ratio in group.compression)
    coarse = [ratio for ratio in group.compression if ratio > _FINE]
    tuple_bytes = sum(
        _aligned(size)
        for size, layers in (
            (_BLOCK // _FINE * _ROW, fine),
            (_BLOCK // _FINE * (group.indexer_dim + 4), fine),
            (max(1, _BLOCK // max(coarse, default=_BLOCK)) * _ROW, len(coarse)),
        )
        if layers
    ) or _aligned(_WINDOW_BLOCK * _ROW)
    latent = max(fine, len(coarse))
    windows = len(group.compression) + drafts
    tuples = _tuples([count for count in (latent, windows, fine, len(coarse)) if count], latent or windows)
    window = group.window or 128
    caches = [
        (LayerCache(Attention.FULL, latent, _BLOCK, tuple_bytes), 1 if latent else 0),
        (_sliding(windows, _WINDOW_BLOCK, window), -(-windows // tuples)),
        (_sliding(fine, _STATE_BLOCKS[True], 2 * _FINE), 1 if fine else 0),
        (_sliding(len(coarse), _STATE_BLOCKS[False], max(coarse, default=1)), 1 if coarse else 0),
    ]
    return KvLayout(tuple(pair for pair in caches if pair[1]), tuples * tuple_bytes, in_flight, version)


def _sliding(count: int, block: int, window: int) -> LayerCache:
    return LayerCache(Attention.SLIDING, count, block, 0, window)


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _tuples(counts: list[int], least: int) -> int:
    """Layers of a group: the size, from `least` on, that pads all counts the least; of equals the largest."""
    sizes = range(least, max(counts) + 1)
    return min(sizes, key=lambda size: (sum(-count % size for count in counts), -size))
