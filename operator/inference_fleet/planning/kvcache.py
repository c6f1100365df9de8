"""vLLM's block pool: how layers share it, what a block costs, how many blocks a request needs, what is printed.

All layers of a group have one block table. Where layers differ in kind, the pool is cut into blocks of equal bytes and
the layers into groups of equal size, so that a request takes blocks for every group. Rules of `kv_cache_utils.py`,
`kv_cache_interface.py` and `platforms/interface.py`.
"""

import math
from dataclasses import dataclass, replace

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.layers import Attention

GROWING = (Attention.FULL, Attention.MLA)
"""Kinds that keep every token."""
_ALMOST_EQUAL = 1.5
"""Kinds whose layer counts differ by less are padded to the larger count instead of being cut."""


@dataclass(frozen=True, slots=True)
class LayerCache:
    """The cache of equal layers on one rank."""

    kind: Attention
    count: int
    block: int
    """Tokens of a block."""
    page: int
    """Bytes of a block in one layer."""
    window: int = 0
    states: int = 0
    """LINEAR: pages per request."""

    def blocks(self, tokens: int, in_flight: int) -> int:
        """Blocks that a request of `tokens` holds at most, `in_flight` being scheduled but not yet settled."""
        match self.kind:
            case Attention.LINEAR:
                return self.states
            case Attention.SLIDING:
                return -(-min(self.window - 1 + in_flight, tokens) // self.block) + 1
            case Attention.CHUNKED:
                return -(-min(self.window + in_flight, tokens) // self.block)
            case Attention.CROSS:
                return -(-self.window // self.block)
            case _:
                return -(-tokens // self.block)


@dataclass(frozen=True, slots=True)
class KvLayout:
    """A pool of blocks. `groups` pairs a cache with how many block tables its layers have."""

    groups: tuple[tuple[LayerCache, int], ...]
    block_bytes: int
    in_flight: int
    version: EngineVersion

    @property
    def block(self) -> int:
        """Tokens of the smallest block."""
        growing = [cache.block for cache, _ in self.groups if cache.kind is not Attention.LINEAR]
        return min(growing, default=16)

    @property
    def state_pages(self) -> int:
        """Pages of constant state that every request takes, 0 without such layers."""
        return sum(cache.states * times for cache, times in self.groups if cache.kind is Attention.LINEAR)

    def request_blocks(self, tokens: int, *, settled: bool = False) -> int:
        """Blocks of one request, as the engine reserves them, or `settled`: once its prompt is computed."""
        in_flight = 1 if settled else self.in_flight
        return sum(times * cache.blocks(tokens, in_flight) for cache, times in self.groups)

    def longest(self, blocks: int, most: int) -> int:
        """The longest request up to `most` that `blocks` hold; one block is the engine's null block."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.request_blocks(middle) < blocks else (low, middle - 1)
        return low

    def printed_tokens(self, blocks: int, length: int) -> int:
        """`GPU KV cache size` in the engine's log."""
        if self.version.prints_capacity:
            return int(blocks / max(1, self.request_blocks(length)) * length)
        return blocks // max(1, sum(times for _, times in self.groups)) * self.block


def uniform(caches: list[LayerCache], version: EngineVersion, in_flight: int) -> KvLayout:
    """One block table for all layers, each with pages of its own size."""
    widest = max(caches, key=lambda cache: cache.count)
    return KvLayout(((widest, 1),), sum(cache.count * cache.page for cache in caches), in_flight, version)


def grouped(caches: list[LayerCache], version: EngineVersion, in_flight: int) -> KvLayout:
    """Groups of equal size over blocks of equal bytes."""
    page = max(cache.page for cache in caches)
    equal = [_enlarged(cache, page) for cache in caches]
    least, most = min(cache.count for cache in equal), max(cache.count for cache in equal)
    size = most if most < least * _ALMOST_EQUAL else least
    groups = tuple((cache, math.ceil(cache.count / size)) for cache in equal)
    return KvLayout(groups, size * page, in_flight, version)


def _enlarged(cache: LayerCache, page: int) -> LayerCache:
    """A cache with pages of `page` bytes: more tokens per block where that divides, padding where not."""
    if cache.kind is Attention.LINEAR or page % cache.page:
        return replace(cache, page=page)
    return replace(cache, page=page, block=cache.block * (page // cache.page))
