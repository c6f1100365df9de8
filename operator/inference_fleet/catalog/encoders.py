"""Encoders of images and sound: their parameters, and what they hold at once when the engine profiles them.

vLLM profiles the encoder with as many items of the largest size as the encoder's budget takes, and the budget is the
larger of `max_num_batched_tokens` and one item's tokens. Every output token stands for several patches.
"""

from dataclasses import dataclass

from inference_fleet.catalog.model_config import Config

_LARGEST_ITEM = 16_384
"""Tokens of the largest image of families without a fixed number (Qwen-VL: 16384; others less)."""
_DEFAULTS = (1152, 4304, 27)
"""Hidden size, intermediate size and layers of SigLIP-so400m, the commonest tower, where a file says nothing."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """One tower."""

    hidden: int
    intermediate: int
    layers: int
    heads: int
    patches_per_token: int
    """Patches that are merged into one token of the language model."""
    item_tokens: int
    """Tokens of the largest item."""


def read_encoder(cfg: Config) -> Encoder | None:
    """The vision tower, else the audio tower; None without."""
    for name in ("vision_config", "visual", "audio_config"):
        part = cfg.sub(name) if cfg.part(name) else None
        if part is not None:
            break
    else:
        return None
    hidden = part.optional("hidden_size", "embed_dim", "d_model", "width", "vt_hidden_size") or _DEFAULTS[0]
    if name == "vision_config" and part.optional("embed_dim") and part.optional("hidden_size"):
        hidden = part.optional("embed_dim") or hidden  # Qwen2-VL: hidden_size is the language model's
    ratio = part.get("mlp_ratio")
    by_ratio = int(hidden * ratio) if isinstance(ratio, int | float) and 0 < ratio < 64 else None
    merge = part.optional("spatial_merge_size", "merge_size", "merge_kernel_size")
    fixed = cfg.optional("mm_tokens_per_image", "image_seq_length", "vision_soft_tokens_per_image")
    size, patch = part.optional("image_size"), part.optional("patch_size")
    patches = (size // patch) ** 2 if size and patch and size > patch else None
    per_token = merge * merge if merge else max(1, patches // fixed) if fixed and patches else 1
    item = fixed or (None if merge else patches) or _LARGEST_ITEM
    return Encoder(
        hidden=hidden,
        intermediate=part.optional("intermediate_size", "encoder_ffn_dim", "mlp_dim", "vt_intermediate_size")
        or by_ratio
        or _DEFAULTS[1],
        layers=part.optional("depth", "num_hidden_layers", "encoder_layers", "layers", "vt_num_hidden_layers")
        or _DEFAULTS[2],
        heads=part.optional("num_heads", "num_attention_heads", "encoder_attention_heads", "vt_num_attention_heads")
        or 16,
        patches_per_token=min(per_token, 64),
        item_tokens=item,
    )


def encoder_parameters(cfg: Config, hidden: int) -> int:
    """Parameters of all towers and of the projector to the language model's `hidden` size."""
    encoder = read_encoder(cfg)
    if encoder is None:
        return 0
    block = 4 * encoder.hidden**2 + 2 * encoder.hidden * encoder.intermediate
    merged = encoder.hidden * min(encoder.patches_per_token, 4)
    return encoder.layers * block + merged * (merged + hidden)
