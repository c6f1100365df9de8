"""The constant state of linear layers: gated delta nets, Mamba 1 and 2, KDA, lightning attention, short convolutions.

Shapes as vLLM's `MambaStateShapeCalculator` computes them. The recurrent matrix is float32 where the file says so
(`mamba_ssm_dtype`) or the family always keeps it so, else of the model's own 16 bits.
"""

from inference_fleet.catalog.layers import State
from inference_fleet.catalog.model_config import Config


def linear_state(cfg: Config, hidden: int, heads: int, head_dim: int) -> State | None:
    """The state of a linear layer, None where no known field describes it."""
    for read in (_delta_net, _kimi_delta, _mamba2, _mamba1, _short_convolution):
        state = read(cfg, hidden)
        if state is not None:
            return state
    if isinstance(cfg.get("attn_type_list"), list):  # lightning attention: one float32 matrix per head
        return State(0, 0, heads * head_dim * head_dim, 4, 5 * heads * head_dim)
    return None


def _recurrent_bytes(cfg: Config) -> int:
    named = cfg.get("mamba_ssm_dtype") or cfg.get("mamba_ssm_cache_dtype")
    return 4 if str(named) in {"float32", "float"} or cfg.dtype == "float32" else 2


def _delta_net(cfg: Config, _: int) -> State | None:
    values = cfg.optional("linear_num_value_heads")
    if values is None:
        return None
    keys = cfg.optional("linear_num_key_heads") or values
    key_dim, value_dim = cfg.optional("linear_key_head_dim") or 128, cfg.optional("linear_value_head_dim") or 128
    kernel = cfg.optional("linear_conv_kernel_dim") or 4
    channels = 2 * keys * key_dim + values * value_dim
    projected = channels + 2 * values * value_dim
    return State(channels, kernel - 1, values * key_dim * value_dim, _recurrent_bytes(cfg), projected)


def _kimi_delta(cfg: Config, _: int) -> State | None:
    part = cfg.sub("linear_attn_config")
    heads, dim = part.optional("num_heads"), part.optional("head_dim")
    if heads is None or dim is None:
        return None
    kernel = part.optional("short_conv_kernel_size") or 4
    return State(3 * heads * dim, kernel - 1, heads * dim * dim, 4, 4 * (heads + 1) * dim)


def _mamba2(cfg: Config, hidden: int) -> State | None:
    heads = cfg.optional("mamba_num_heads", "mamba_n_heads", "n_mamba_heads", "num_heads_mamba")
    dim = cfg.optional("mamba_head_dim", "mamba_d_head", "mamba_headdim")
    if heads is None and cfg.model_type == "mamba2":
        heads, dim = cfg.optional("num_heads"), cfg.optional("head_dim")
    if heads is None:
        return None
    expanded = cfg.optional("mamba_d_ssm", "mamba_intermediate") or 2 * hidden
    dim = dim or max(1, expanded // heads)
    groups = cfg.optional("n_groups", "mamba_n_groups", "mamba_ngroups") or 1
    state = cfg.optional("ssm_state_size", "mamba_d_state", "mamba_state_dim", "state_size") or 128
    kernel = cfg.optional("conv_kernel", "mamba_d_conv", "conv_kernel_size") or 4
    inner, shared = heads * dim, 2 * groups * state
    return State(inner, kernel - 1, inner * state, _recurrent_bytes(cfg), 3 * inner + shared + heads, shared, groups)


def _mamba1(cfg: Config, hidden: int) -> State | None:
    state = cfg.optional("mamba_d_state", "state_size")
    if state is None:
        return None
    inner = cfg.optional("intermediate_size") if cfg.model_type in {"mamba", "falcon_mamba"} else None
    inner = inner or (cfg.optional("mamba_expand", "expand") or 2) * hidden
    kernel = cfg.optional("mamba_d_conv", "conv_kernel") or 4
    return State(inner, kernel - 1, inner * state, _recurrent_bytes(cfg), 3 * inner)


def _short_convolution(cfg: Config, hidden: int) -> State | None:
    kernel = cfg.optional("conv_L_cache")
    return State(hidden, kernel - 1, 0, 2, 4 * hidden) if kernel else None
