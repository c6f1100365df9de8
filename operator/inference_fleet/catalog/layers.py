"""What the layers of a model keep of the past: groups of equal layers, each of one kind with its own geometry.

Mixed architectures are more groups and not another code path. Dimensions are elements of one layer before any split
over ranks.
"""

from dataclasses import dataclass
from enum import StrEnum


class Attention(StrEnum):
    """How a layer remembers the past."""

    FULL = "full"
    SLIDING = "sliding"
    CHUNKED = "chunked"
    """Only the current chunk of the prompt is seen."""
    MLA = "mla"
    COMPRESSED = "compressed"
    """A window, and beyond it one latent for several tokens (DeepSeek-V4)."""
    LINEAR = "linear"
    """A constant state instead of keys and values."""
    CROSS = "cross"
    """Keys and values of an encoder's output, of a bounded length."""


@dataclass(frozen=True, slots=True)
class State:
    """The constant state of a layer: the inputs that its convolution still needs, and the recurrent matrix.

    Both are split over the ranks; `shared_channels` (the groups of Mamba2's B and C) are kept whole where there are
    fewer groups than ranks.
    """

    channels: int
    steps: int
    """Kernel width - 1; speculative tokens are kept besides."""
    recurrent: int
    recurrent_bytes: int
    projected: int = 0
    """Width of all projections of the layer together, in and out."""
    shared_channels: int = 0
    groups: int = 1

    def size(self, tp: int, speculative: int = 0) -> int:
        """Bytes of one sequence's state on one rank, the convolution's inputs being 16 bits wide."""
        split = -(-self.channels // tp)
        shared = self.shared_channels // min(tp, self.groups) if self.groups % tp else self.shared_channels // tp
        return (split + shared) * (self.steps + speculative) * 2 + -(-self.recurrent // tp) * self.recurrent_bytes


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
    """Sliding, chunked, compressed: tokens seen. Cross: the encoder's output length."""
    state: State | None = None
    indexers: int = 0
    """MLA: how many of the layers keep keys of a sparse attention's indexer (DSA)."""
    indexer_dim: int = 0
    compression: tuple[int, ...] = ()
    """Compressed: tokens per latent of each layer; 0 keeps the window alone."""
