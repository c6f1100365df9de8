import pytest

from inference_fleet.throughput.work import model_work
from tests.unit.planning.shapes import config, facts
from tests.unit.throughput.replicas import dense_8b, experts


def test_a_step_of_a_dense_model_reads_all_but_the_input_embedding() -> None:
    work = model_work(dense_8b())
    assert work.plain_bytes == 16_060_522_496 - 128_256 * 4096 * 2
    assert work.expert_bytes == 0
    assert work.plain_params == pytest.approx(6.98e9, rel=0.01)  # 8.03 billion without embedding and output layer


def test_a_tied_embedding_is_read_as_the_output_layer() -> None:
    work = model_work(dense_8b(tie_word_embeddings=True))
    assert work.plain_bytes >= 15_000_000_000


def test_few_tokens_touch_few_experts_and_many_all_of_them() -> None:
    work = model_work(experts())
    assert work.expert_bytes == pytest.approx(58e9, rel=0.01)
    assert work.touched(1) == pytest.approx(8 / 128)
    assert work.touched(8) < 8 * work.touched(1)
    assert work.touched(8, skew=0.7) < work.touched(8)
    assert work.touched(4096) == pytest.approx(1.0)


def test_only_the_experts_of_a_token_are_multiplied() -> None:
    work = model_work(experts())
    assert work.expert_params == 48 * 8 * 3 * 2048 * 768


def test_a_window_bounds_what_is_read_of_the_past() -> None:
    kinds = ["sliding_attention", "full_attention"] * 16
    work = model_work(facts(config(layer_types=kinds, sliding_window=128)))
    full = model_work(facts(config()))
    per_token = 2 * 8 * 128 * 2
    assert full.kv_bytes(1000, 1, 2) == 32 * 1000 * per_token
    assert work.kv_bytes(1000, 1, 2) == 16 * 1128 * per_token
    assert work.pairs(1000, 0) < full.pairs(1000, 0)


def test_ranks_split_heads_but_keep_a_latent_whole() -> None:
    split = model_work(facts(config()))
    assert split.kv_bytes(1000, 8, 2) == split.kv_bytes(1000, 1, 2) / 8
    assert split.kv_bytes(1000, 16, 2) == split.kv_bytes(1000, 8, 2)  # 8 KV heads: copies from 16 ranks on
    latent = model_work(facts(config(kv_lora_rank=512, qk_rope_head_dim=64)))
    assert latent.kv_bytes(1000, 8, 2) == latent.kv_bytes(1000, 1, 2) == 32 * 1000 * 576 * 2
    assert latent.latent_layers == 32


@pytest.mark.parametrize(
    ("quantization", "bits"),
    [
        (None, 16),
        ({"quant_method": "fp8"}, 8),
        ({"quant_method": "mxfp4"}, 4),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 16),
    ],
)
def test_integer_weights_are_multiplied_in_16_bits(quantization: object, bits: int) -> None:
    assert model_work(facts(config(quantization_config=quantization))).product_bits == bits


def test_a_constant_state_is_read_however_long_the_past_is() -> None:
    shape = config(
        model_type="qwen3_next",
        layer_types=["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 8,
        linear_num_key_heads=16,
        linear_num_value_heads=32,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        linear_conv_kernel_dim=4,
    )
    work = model_work(facts(shape))
    assert work.kv_bytes(2000, 1, 2) - work.kv_bytes(1000, 1, 2) == 8 * 1000 * 2 * 8 * 128 * 2
    assert work.kv_bytes(0, 1, 2) > 24 * 32 * 128 * 128 * 2
    assert work.kv_bytes(0, 8, 2) < work.kv_bytes(0, 1, 2)
