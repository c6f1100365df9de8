"""Block pools against what start-up logs of real engines printed, and against vLLM's rules where no log shows them."""

from typing import Any

import pytest

from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB
from inference_fleet.planning.kvcache import KvLayout
from inference_fleet.planning.layout import CacheRequest, kv_layout
from inference_fleet.planning.pages import KvDtype
from tests.unit.planning import models
from tests.unit.planning.shapes import config, facts


def layout(shape: dict[str, Any], *, version: str = "0.22.0", dtype: str = "auto", **changes: Any) -> KvLayout:
    given: dict[str, Any] = {"tp": 1, "block": 16, "in_flight": 8192, "prefix_caching": True, **changes}
    request = CacheRequest(dtype=KvDtype(dtype), version=engine_version(f"v:{version}"), **given)
    pool = kv_layout(facts(shape).attention, request)
    assert pool is not None
    return pool


def printed(pool: KvLayout, gib: float, length: int) -> tuple[int, float]:
    blocks = int(gib * GIB) // pool.block_bytes
    return pool.printed_tokens(blocks, length), blocks / pool.request_blocks(length)


def test_full_attention_is_bytes_over_bytes_per_token() -> None:
    tokens, at_once = printed(layout(config(), version="0.11.2"), 3.78, 16384)
    assert tokens == pytest.approx(30960, rel=0.001)
    assert at_once == pytest.approx(1.89, abs=0.005)


def test_a_drafter_shares_the_pool() -> None:
    pool = layout(config(), version="0.9.1", draft_layers=1)
    assert pool.block_bytes == 16 * 4096 * 33
    assert printed(pool, 51.63, 131072)[0] == pytest.approx(410128, rel=0.001)


def test_a_hybrids_blocks_grow_to_the_state() -> None:
    pool = layout(models.gated_delta_net(), tp=2)
    assert (pool.block, pool.block_bytes) == (784, 784 * 2048 * 16)
    assert pool.request_blocks(262144) == 335 + 3 * 2
    assert int(580 / 341 * 262144) == pool.printed_tokens(580, 262144) == 445875


def test_speculation_widens_states_and_adds_a_layer_and_pages() -> None:
    pool = layout(models.gated_delta_net(), tp=2, dtype="fp8", draft_layers=1, speculative_tokens=3)
    assert (pool.block, pool.block_bytes) == (1600, 1600 * 1024 * 17)
    assert pool.request_blocks(262144) == 164 + 3 * 5
    tokens, at_once = printed(pool, 11.052, 262144)
    assert tokens == 623873
    assert at_once == pytest.approx(2.38, abs=0.005)


def test_an_older_hybrid_keeps_one_state_and_prints_blocks_of_a_group() -> None:
    shape = models.gated_delta_net(
        num_hidden_layers=40,
        hidden_size=2048,
        num_attention_heads=16,
        num_key_value_heads=2,
        layer_types=(["linear_attention"] * 3 + ["full_attention"]) * 10,
        linear_num_value_heads=32,
    )
    pool = layout(shape, version="0.18.0")
    assert pool.block == 1056
    tokens, at_once = printed(pool, 15.58, 8192)
    assert tokens == 203808
    assert at_once == pytest.approx(70.27, abs=0.005)


def test_a_hybrid_without_prefix_caching_keeps_one_state() -> None:
    assert layout(models.gated_delta_net(), prefix_caching=False).state_pages == 3
    assert layout(models.gated_delta_net()).state_pages == 6


def test_mixers_that_are_layers_of_their_own() -> None:
    pool = layout(models.mamba_experts(), version="0.32.0")
    assert (pool.block, pool.block_bytes) == (2096, 6 * 2096 * 1024)
    assert pool.request_blocks(262144) * pool.block_bytes == 1_725_628_416


def test_two_geometries_share_blocks_of_equal_bytes() -> None:
    pool = layout(models.two_geometries(), tp=2)
    assert pool.block_bytes == 10 * 131072
    assert pool.request_blocks(262144) == 8192 + 5 * (576 + 1)
    assert pool.printed_tokens(32318, 262144) == 764825
    whole = layout(models.two_geometries(), version="0.32.0", in_flight=16_384)
    assert (whole.block_bytes, whole.request_blocks(262144)) == (2_621_440, 13_637)


def test_a_window_holds_what_it_sees_and_what_is_in_flight() -> None:
    pool = layout(models.alternating(), in_flight=2048)
    assert pool.block_bytes == 12 * 16 * 2048
    assert pool.request_blocks(131072) == 8192 + (-(-(127 + 2048) // 16) + 1)
    assert pool.request_blocks(131072, settled=True) == 8192 + 8 + 1


def test_layer_counts_that_are_almost_equal_are_padded() -> None:
    pool = layout(models.alternating(), draft_layers=1)
    assert pool.block_bytes == 13 * 16 * 2048
    assert [times for _, times in pool.groups] == [1, 1]


def test_before_layers_were_grouped_a_window_was_kept_like_full_attention() -> None:
    pool = layout(models.alternating(), version="0.8.5")
    assert len(pool.groups) == 1
    assert pool.block_bytes == 24 * 16 * 2048


def test_chunked_layers_are_grouped_since_it_is_the_default() -> None:
    shape = config(model_type="llama4", attention_chunk_size=8192, num_hidden_layers=48)
    new, old = layout(shape, version="0.22.0"), layout(shape, version="0.11.0")
    assert [times for _, times in new.groups] == [1, 3]
    assert new.request_blocks(1_000_000) == 62_500 + 3 * (8192 + 8192) // 16
    assert old.request_blocks(1_000_000) * old.block_bytes == 62_500 * 16 * 4096 * 48


def test_a_latent_is_the_same_on_every_rank() -> None:
    pool = layout(models.latent(), tp=16)
    assert pool.block_bytes == 16 * 61 * 576 * 2


def test_sparse_latents_bring_indexer_keys() -> None:
    tokens, at_once = printed(layout(models.sparse_latent(), version="0.19.0"), 32.06, 202752)
    assert tokens == pytest.approx(343744, rel=0.001)
    assert at_once == pytest.approx(1.7, abs=0.005)


def test_shared_indexers_and_packed_latents() -> None:
    pool = layout(models.sparse_latent(index_topk_freq=4), version="0.23.1", dtype="fp8")
    assert pool.block_bytes == 64 * (78 * 656 + 21 * 132)
    assert printed(pool, 28.85, 400_000)[0] == pytest.approx(574336, rel=0.001)


def test_latents_beside_constant_states_align_to_their_kernels_blocks() -> None:
    pool = layout(models.kimi_delta(), tp=2, version="0.11.1")
    assert (pool.block, pool.block_bytes) == (960, 7 * 960 * 1152)
    assert printed(pool, 2.3, 120_000)[0] == 75840


def test_compressed_attention_is_a_pool_of_layer_tuples() -> None:
    shape = config(
        architectures=["DeepseekV4ForCausalLM"],
        model_type="deepseek_v4",
        num_hidden_layers=43,
        head_dim=512,
        num_key_value_heads=1,
        compress_ratios=[0, 0, *([4, 128] * 20), 4],
        sliding_window=128,
    )
    pool = layout(shape)
    assert pool.block_bytes == 22 * (37440 + 8640 + 1728)
    assert [times for _, times in pool.groups] == [1, 2, 1, 1]
    assert pool.request_blocks(65536) == 256 + 2 * 131 + 2051 + 1041


def test_an_encoder_decoder_keeps_the_encoders_output_once() -> None:
    shape = {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "d_model": 1280,
        "decoder_layers": 32,
        "decoder_attention_heads": 20,
        "vocab_size": 51866,
        "is_encoder_decoder": True,
        "max_source_positions": 1500,
        "max_target_positions": 448,
    }
    assert layout(shape).request_blocks(448) == 28 + 94


def test_a_model_that_embeds_keeps_nothing() -> None:
    shape = config(architectures=["BertModel"], model_type="bert")
    request = CacheRequest(1, KvDtype("auto"), 16, 2048, engine_version("v:0.22.0"), prefix_caching=True)
    assert kv_layout(facts(shape).attention, request) is None


@pytest.mark.parametrize(
    ("dtype", "row"),
    [("auto", 4096), ("bfloat16", 4096), ("fp8", 2048), ("fp8_e5m2", 2048), ("nvfp4", 1152)],
)
def test_kv_dtypes(dtype: str, row: int) -> None:
    assert layout(config(), dtype=dtype).block_bytes == 16 * row * 32


def test_the_longest_request_leaves_the_null_block() -> None:
    pool = layout(config())
    assert pool.longest(100, 10**6) == 99 * 16
    assert pool.longest(1, 10**6) == 0
