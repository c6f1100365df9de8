"""The mixture of experts of a model: how many, how wide, in which layers, and how many a token visits."""

from dataclasses import dataclass

from inference_fleet.catalog.model_config import Config


@dataclass(frozen=True, slots=True)
class Experts:
    """Widths are intermediate sizes of one expert."""

    count: int
    per_token: int
    width: int
    shared: int
    """Width of the experts that every token visits."""
    layers: int
    dense_layers: int


def read_experts(cfg: Config, layers: int, intermediate: int) -> Experts | None:
    """The experts, None for a dense model."""
    count = cfg.optional("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
    if count is None or count == 1:
        return None
    width = cfg.optional("moe_intermediate_size", "expert_ffn_hidden_size") or (
        cfg.optional("ffn_hidden_size") or intermediate
    )
    sparse = _sparse_layers(cfg, layers)
    return Experts(
        count=count,
        per_token=cfg.optional("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k", "top_k_experts")
        or 1,
        width=width,
        shared=_shared(cfg, width),
        layers=sparse,
        # Gemma 4 has a dense MLP beside the experts of each layer
        dense_layers=layers if cfg.flag("enable_moe_block") else layers - sparse,
    )


def _sparse_layers(cfg: Config, layers: int) -> int:
    pattern = cfg.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return pattern[:layers].upper().count("E")
    blocks = cfg.get("layers_block_type")
    if isinstance(blocks, list) and "moe" in blocks:
        return blocks[:layers].count("moe")
    kinds = cfg.get("mlp_layer_types")
    if isinstance(kinds, list) and kinds:
        return sum(str(kind) == "sparse" for kind in kinds[:layers])
    only = cfg.get("mlp_only_layers")
    dense = len(only) if isinstance(only, list) else 0
    dense += cfg.optional("first_k_dense_replace", "num_dense_layers") or 0
    left = max(1, layers - dense)
    every = cfg.optional("interleave_moe_layer_step", "moe_layer_frequency", "moe_layer_freq", "decoder_sparse_step")
    listed = cfg.get("moe_layer_freq")
    if isinstance(listed, list) and listed:
        return max(1, sum(bool(flag) for flag in listed[:layers]))
    every = every or cfg.optional("expert_layer_period") or 1
    return max(1, left // every)


def _shared(cfg: Config, width: int) -> int:
    given = cfg.optional(
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"
    )
    if given:
        return given
    number = cfg.optional("n_shared_experts", "num_shared_experts", "moe_num_shared_experts") or 0
    if not number and cfg.family.startswith("llama4"):
        number = 1
    return number * width
