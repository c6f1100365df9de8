import pytest

from inference_fleet.planning.parallelism import Split, explain, legal_sizes
from tests.unit.planning import models
from tests.unit.planning.shapes import config, facts


@pytest.mark.parametrize(
    ("heads", "kv_heads", "node", "sizes"),
    [
        (32, 8, 8, (1, 2, 4, 8)),
        (28, 4, 8, (1, 2, 4)),
        (40, 10, 8, (1, 2)),
        (32, 4, 16, (1, 2, 4, 8, 16)),
        (64, 8, 4, (1, 2, 4)),
        (14, 2, 8, (1, 2)),
        (16, 1, 8, (1, 2, 4, 8)),
    ],
)
def test_heads_kv_heads_and_the_node_bound_the_sizes(
    heads: int, kv_heads: int, node: int, sizes: tuple[int, ...]
) -> None:
    shape = config(num_attention_heads=heads, num_key_value_heads=kv_heads, head_dim=128)
    assert legal_sizes(facts(shape), node) == sizes


def test_blocks_of_scales_stay_whole() -> None:
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    shape = config(num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768, quantization_config=fp8)
    assert legal_sizes(facts(shape), 8) == (1, 2)


def test_the_explanation_names_each_rule_and_what_it_leaves() -> None:
    text = explain(facts(config(num_attention_heads=28, num_key_value_heads=4, head_dim=128)), 8)
    assert text == (
        "legal sizes by the 28 attention heads: 1, 2, 4, 7, 14, 28; of these 4 KV heads allow 1, 2, 4, 28; "
        "of these a node of 8 GPUs allows 1, 2, 4"
    )


def test_whole_experts_need_no_whole_blocks() -> None:
    fp8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    shape = config(num_experts=128, num_experts_per_tok=8, moe_intermediate_size=1536, quantization_config=fp8)
    assert legal_sizes(facts(shape), 8) == (1, 2, 4)
    assert legal_sizes(facts(shape), 8, Split(expert_parallel=True)) == (1, 2, 4, 8)
    assert "128 whole experts" not in explain(facts(shape), 8, Split(expert_parallel=True))
    uneven = config(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=1536)
    assert "6 whole experts allow 1, 2" in explain(facts(uneven), 8, Split(expert_parallel=True))


def test_latents_know_no_kv_heads() -> None:
    assert legal_sizes(facts(models.latent(num_key_value_heads=10, quantization_config=None)), 8) == (1, 2, 4, 8)


def test_heads_of_linear_layers_and_encoders_must_divide() -> None:
    assert legal_sizes(facts(models.gated_delta_net()), 8) == (1, 2, 4, 8)
    assert legal_sizes(facts(models.gated_delta_net(linear_num_key_heads=2)), 8) == (1, 2)
    shape = models.gated_delta_net()
    shape["vision_config"]["num_heads"] = 6
    assert legal_sizes(facts(shape), 8) == (1, 2)
    assert legal_sizes(facts(shape), 8, Split(whole_encoder=True)) == (1, 2, 4, 8)
    assert "6 heads of the encoder allow" in explain(facts(shape), 8)
