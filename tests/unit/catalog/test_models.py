from typing import Any

import pytest

from inference_fleet.catalog.models import Attention, AttentionLayers, ModelConfigError, model_facts
from tests.unit.planning import models
from tests.unit.planning.shapes import config, facts


def test_a_dense_model_is_exact_and_its_weights_follow_from_shapes() -> None:
    found = facts()
    assert found.attention == (AttentionLayers(Attention.FULL, 32, 8, 128, 128),)
    assert found.weights_bytes == 16_060_522_496  # 8,030,261,248 parameters of two bytes
    assert found.weights_estimated
    assert found.approximations == ()


def test_nested_text_parts_are_read() -> None:
    text = config()
    nested = {"architectures": ["X"], "vision_config": {}, "text_config": text, "torch_dtype": "bfloat16"}
    found = facts(nested)
    assert (found.architecture, found.attention_heads, found.kv_heads, found.layers) == ("X", 32, 8, 32)


def test_fields_that_a_nested_class_defaults_are_filled_in() -> None:
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    found = facts({"text_config": {**text, "sliding_window": 1024}, "vision_config": {}})
    assert (found.attention_heads, found.kv_heads, found.head_dim) == (8, 4, 256)
    assert {group.kind: group.count for group in found.attention} == {Attention.FULL: 5, Attention.SLIDING: 29}


def test_the_given_head_dim_wins_over_the_quotient() -> None:
    assert facts(config(head_dim=64)).head_dim == 64
    assert facts(config(head_dim=None)).head_dim == 128


@pytest.mark.parametrize(
    ("changes", "kv_heads"),
    [({"num_key_value_heads": None}, 32), ({"num_key_value_heads": 1}, 1), ({"multi_query": True}, 1)],
)
def test_kv_heads(changes: dict[str, Any], kv_heads: int) -> None:
    assert facts(config(**changes)).kv_heads == kv_heads


@pytest.mark.parametrize(
    ("scaling", "default", "longest"),
    [
        (None, 4096, 4096),
        ({"rope_type": "llama3", "factor": 8.0}, 4096, 4096),
        ({"rope_type": "yarn", "factor": 4.0}, 4096, 4096),
        ({"type": "linear", "factor": 2.0}, 8192, 8192),
        ({"type": "dynamic", "factor": 2}, 8192, 8192),
        ({"type": "longrope", "original_max_position_embeddings": 1024}, 1024, 4096),
        ({"type": "linear", "factor": float("inf")}, 4096, 4096),
    ],
)
def test_the_derived_length(scaling: Any, default: int, longest: int) -> None:
    found = facts(config(max_position_embeddings=4096, rope_scaling=scaling))
    assert (found.default_len, found.longest_len) == (default, longest)


def test_only_files_that_the_index_names_are_weights() -> None:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}}
    files = {"model-1.safetensors": 10 << 30, "model-2.safetensors": 5 << 30, "original.safetensors": 15 << 30}
    found = model_facts(config(), index, files)
    assert found.weights_bytes == 15 << 30
    assert not found.weights_estimated
    with_total = model_facts(config(), {**index, "metadata": {"total_size": 7 << 30}}, files)
    assert with_total.weights_bytes == 7 << 30


def test_a_single_file_is_the_weights_and_a_copy_beside_it_is_not() -> None:
    files = {"model.safetensors": 10 << 30, "consolidated.safetensors": 10 << 30, "original/model.safetensors": 1 << 30}
    assert model_facts(config(), None, files).weights_bytes == 10 << 30


def test_float32_checkpoints_load_in_16_bits_and_a_tied_output_layer_once() -> None:
    assert facts(config(torch_dtype="float32"), weights=20 << 30).weights_bytes == 10 << 30
    tied = facts(config(tie_word_embeddings=True))
    embedding = 128256 * 4096 * 2
    assert (
        facts(config(tie_word_embeddings=True), weights=tied.weights_bytes + embedding).weights_bytes
        == tied.weights_bytes
    )


@pytest.mark.parametrize(
    ("quantization", "bits", "granule"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8.0, 128),
        ({"quant_method": "fp8"}, 8.0, None),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4.125, None),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4.125, 128),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4}}}}, 4.0, None),
        ({"quant_method": "fp8", "weight_block_size": ["x"]}, 8.0, None),
    ],
)
def test_quantisation(quantization: dict[str, Any], bits: float, granule: int | None) -> None:
    found = facts(config(quantization_config=quantization)).quantization
    assert found is not None
    assert (found.bits, found.granule) == (bits, granule)


def test_an_unknown_architecture_and_unknown_kinds_are_named() -> None:
    strange = facts(config(architectures=["BrandNewForCausalLM"], model_type="brand_new"))
    assert strange.estimated
    assert strange.approximations == ("the architecture BrandNewForCausalLM is not known",)
    kinds = facts(config(layer_types=["full_attention"] * 31 + ["holographic"]), weights=1)
    assert kinds.approximations == ("layers of kind 'holographic', billed as full attention",)
    assert kinds.attention[0].count == 32
    stateful = facts(config(layer_types=["linear_attention"] * 24 + ["full_attention"] * 8))
    assert [(group.kind, group.count) for group in stateful.attention] == [(Attention.FULL, 8), (Attention.LINEAR, 24)]
    assert "24 layers with a constant state of unknown size" in stateful.approximations[0]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"hidden_size": "big"}, "hidden_size"),
        ({"num_attention_heads": -2}, "num_attention_heads"),
        ({"num_attention_heads": 10**7}, "num_attention_heads"),
        ({"vocab_size": 10**15}, "vocab_size"),
        ({"vocab_size": True}, "vocab_size"),
    ],
)
def test_what_cannot_be_a_model_is_named_by_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(ModelConfigError, match=f"config.json: {field}"):
        facts(config(**changes))


def test_draft_layers_are_in_the_store_and_not_on_the_gpu() -> None:
    stored = 688_586_727_753  # 641.3 GiB with one layer of 11.6 billion parameters for multi-token prediction
    by_configuration = facts(models.latent(), weights=stored)
    assert stored - by_configuration.weights_bytes == by_configuration.draft_bytes
    assert by_configuration.draft_bytes / 1e9 == pytest.approx(11.6, rel=0.02)
    named = model_facts(
        models.latent(), {"metadata": {"total_size": stored}, "weight_map": {"model.layers.0.x": "a"}}, {}
    )
    assert named.weights_bytes == stored
    beyond = {"metadata": {"total_size": stored}, "weight_map": {"model.layers.61.x": "a"}}
    assert model_facts(models.latent(), beyond, {}).weights_bytes < stored


@pytest.mark.parametrize(
    ("ignored", "kept"),
    [
        (["lm_head"], set()),
        (
            ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up)_proj.*"],
            {"attention", "shared_experts", "mlp"},
        ),
        ([f"model.layers.{layer}.self_attn.q_proj" for layer in range(32)], {"attention"}),
        (["model.visual.blocks.0.attn.qkv", "mtp.layers.0.self_attn"], set()),
    ],
)
def test_parts_that_stay_in_16_bits(ignored: list[str], kept: set[str]) -> None:
    group = {"weights": {"num_bits": 4, "group_size": 32}}
    quantization = {"quant_method": "compressed-tensors", "config_groups": {"g": group}, "ignore": ignored}
    found = facts(config(quantization_config=quantization)).quantization
    assert found is not None
    assert (found.bits, set(found.kept)) == (4.5, kept)


@pytest.mark.parametrize(
    "scales", [{"kv_cache_quant_algo": "FP8"}, {"kv_cache_scheme": {"num_bits": 8, "type": "float"}}]
)
def test_a_checkpoint_may_bring_scales_for_an_fp8_cache(scales: dict[str, Any]) -> None:
    found = facts(
        config(quantization_config={"quant_method": "modelopt", "quant_algo": "NVFP4", **scales})
    ).quantization
    assert found is not None
    assert (found.method, found.bits, found.kv_fp8) == ("nvfp4", 4.5, True)


def test_scaled_tables_of_a_length_that_is_stated_scaled() -> None:
    shape = config(
        model_type="gemma3_text", max_position_embeddings=131072, rope_scaling={"rope_type": "linear", "factor": 8.0}
    )
    found = facts(shape)
    assert (found.default_len, found.longest_len, found.rotary_len) == (131072, 131072, 1048576)


def test_a_quantisation_of_unknown_width_is_named_and_billed_at_16_bits() -> None:
    found = facts(config(quantization_config={"quant_method": "squeeze"}))
    assert found.approximations == ("quantisation 'squeeze' of unknown width, billed at 16 bits",)
    assert found.weights_bytes == facts().weights_bytes
