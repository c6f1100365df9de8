from typing import Any

import pytest

from inference_fleet.catalog.layers import Attention
from inference_fleet.catalog.models import ModelFacts
from tests.unit.planning import models
from tests.unit.planning.shapes import config, facts


def counts(shape: dict[str, Any]) -> dict[str, int]:
    return {str(group.kind): group.count for group in facts(shape).attention}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, {"full": 32}),
        ({"sliding_window": 4096}, {"sliding": 32}),
        ({"sliding_window": 4096, "use_sliding_window": False}, {"full": 32}),
        ({"model_type": "gemma2", "sliding_window": 4096}, {"full": 16, "sliding": 16}),
        ({"model_type": "gemma3_text", "sliding_window": 512}, {"full": 5, "sliding": 27}),
        ({"sliding_window": 4096, "sliding_window_pattern": 4}, {"full": 8, "sliding": 24}),
        ({"sliding_window": 4096, "sliding_window_pattern": "LLLG"}, {"full": 8, "sliding": 24}),
        ({"attention_chunk_size": 8192}, {"full": 8, "chunked": 24}),
        ({"attention_chunk_size": 8192, "no_rope_layers": [1, 0] * 16}, {"full": 16, "chunked": 16}),
        (
            {"layer_types": ["sliding_attention"] * 30 + ["full_attention"] * 2, "sliding_window": 9},
            {"full": 2, "sliding": 30},
        ),
        ({"num_kv_shared_layers": 12}, {"full": 20}),
        ({"full_attention_interval": 4, "linear_num_value_heads": 32}, {"full": 8, "linear": 24}),
        ({"attn_layer_period": 8, "attn_layer_offset": 4, "mamba_d_state": 16}, {"full": 4, "linear": 28}),
        ({"attn_layer_indices": [3, 9], "mamba_n_heads": 64, "mamba_d_state": 128}, {"full": 2, "linear": 30}),
        ({"attn_type_list": [0, 0, 0, 1] * 8}, {"full": 8, "linear": 24}),
        ({"model_type": "falcon_h1", "mamba_n_heads": 32}, {"full": 32, "linear": 32}),
        ({"layers_block_type": ["mamba", "hybrid"] * 16, "n_mamba_heads": 32}, {"full": 16, "linear": 32}),
        ({"hybrid_layer_pattern": [0, 1, 1, 1] * 8, "sliding_window": 128}, {"full": 8, "sliding": 24}),
        (
            {"layers_block_type": ["mamba", "moe", "attention", "moe"] * 8, "mamba_num_heads": 8},
            {"full": 8, "linear": 8},
        ),
    ],
)
def test_layers_by_kind(changes: dict[str, Any], found: dict[str, int]) -> None:
    assert counts(config(**changes)) == found


def test_hybrids_patterns_and_lists_of_layers() -> None:
    assert counts(models.mamba_experts()) == {"full": 6, "linear": 23}
    assert counts(models.kimi_delta()) == {"mla": 7, "linear": 20}
    assert counts(models.gated_delta_net()) == {"full": 16, "linear": 48}


def test_a_state_is_split_over_the_ranks() -> None:
    (_, linear) = facts(models.gated_delta_net()).attention
    assert linear.state is not None
    assert linear.state.size(1) == 10240 * 3 * 2 + 48 * 128 * 128 * 4
    assert linear.state.size(2) == 5120 * 3 * 2 + 24 * 128 * 128 * 4
    assert linear.state.size(2, speculative=3) == 5120 * 6 * 2 + 24 * 128 * 128 * 4


def test_global_layers_have_their_own_geometry() -> None:
    full, sliding = facts(models.two_geometries()).attention
    assert (full.kv_heads, full.key_dim, full.count) == (4, 512, 10)
    assert (sliding.kv_heads, sliding.key_dim, sliding.window) == (16, 256, 1024)


def test_indexers_are_shared_by_layers_after_the_first() -> None:
    def indexers(**changes: Any) -> int:
        return facts(models.sparse_latent(**changes)).attention[0].indexers

    assert indexers() == 78
    assert indexers(index_topk_freq=4) == 21
    assert indexers(index_topk_freq=4, index_skip_topk_offset=3) == 21
    assert indexers(indexer_types=["full", "shared"] * 39) == 39
    assert facts(models.latent()).attention[0].indexers == 0


def test_families_that_cache_whole_heads_in_spite_of_their_latents() -> None:
    shape = config(model_type="minicpm3", kv_lora_rank=256, qk_rope_head_dim=32, qk_nope_head_dim=64)
    (group,) = facts(shape).attention
    assert (group.kind, group.kv_heads, group.key_dim) == (Attention.FULL, 32, 96)


@pytest.mark.parametrize(
    ("shape", "billions"),
    [
        (models.latent(), 671.0),
        (models.mamba_experts(), 31.6),
        (models.alternating(36), 116.8),
        (models.gated_delta_net(), 27.3),
        (models.two_geometries(), 30.7),
    ],
)
def test_parameters_are_those_that_are_published(shape: dict[str, Any], billions: float) -> None:
    found: ModelFacts = facts(shape)
    assert found.parameters.total / 1e9 == pytest.approx(billions, rel=0.02)
