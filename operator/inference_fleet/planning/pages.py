"""Bytes of the KV cache per token and layer, on one rank, by attention kind and KV dtype."""

from dataclasses import dataclass

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.layers import Attention, AttentionLayers

_BITS = {"nvfp4": 4.5, "int4_per_token_head": 4.0, "int8_per_token_head": 8.0, "fp8_per_token_head": 8.0}
_HEAD_SCALES = 4
"""Bytes of the scale that the per-token-per-head types store beside each key or value of a head."""
_PACKED_LATENT = {"fp8_ds_mla": 656, "nvfp4_ds_mla": 352}
"""Rows of a sparse latent cache: 512 FP8 values, 16 bytes of scales and 64 rotary values in 16 bits; half for FP4."""
_SCALE_BLOCK = 128
"""Indexer keys are FP8 with a 4-byte scale per block of this many values."""


@dataclass(frozen=True, slots=True)
class KvDtype:
    """How keys and values are stored: the engine's name, after `auto` is resolved."""

    name: str
    wide: int = 2
    """Bytes of an element of `auto`: 4 for a float32 model."""

    def row(self, elements: int, heads: int) -> int:
        """Bytes of `elements` values of one token, in `heads` heads."""
        if self.name in _BITS:
            scales = heads * _HEAD_SCALES if self.name.endswith("_head") else 0
            return int(elements * _BITS[self.name] / 8) + scales
        if self.name.startswith(("fp8", "int8")):
            return elements
        return elements * (self.wide if self.name == "auto" else 2)


def token_bytes(group: AttentionLayers, tp: int, dtype: KvDtype, version: EngineVersion) -> int:
    """Bytes that one token takes in one layer of a group; 0 for a constant state.

    More ranks than KV heads replicate them; a latent is kept whole by every rank.
    """
    match group.kind:
        case Attention.LINEAR | Attention.COMPRESSED:
            return 0
        case Attention.MLA:
            return _latent(group, dtype, version)
        case _:
            heads = max(1, group.kv_heads // tp)
            return dtype.row(heads * (group.key_dim + group.value_dim), 2 * heads)


def indexer_bytes(group: AttentionLayers) -> int:
    """Bytes of one token's key of a sparse attention's indexer."""
    return group.indexer_dim + group.indexer_dim // _SCALE_BLOCK * 4


def _latent(group: AttentionLayers, dtype: KvDtype, version: EngineVersion) -> int:
    name = dtype.name
    if group.indexers and (name.startswith("fp8") or (name == "auto" and version.sparse_latents_fp8)):
        name = "fp8_ds_mla"
    return _PACKED_LATENT.get(name) or dtype.row(group.latent_dim, 1)
