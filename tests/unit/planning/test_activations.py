import pytest

from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB
from inference_fleet.planning.activations import Batch, activations
from tests.unit.planning import models
from tests.unit.planning.shapes import config, facts

NEW = engine_version("v:0.33.0")
OLD = engine_version("v:0.11.2")
MLP = 3 * 4096 + 3 * 14336


def test_the_peak_is_the_larger_of_the_forward_and_the_sampler() -> None:
    assert activations(facts(), 1, Batch(8192, 8), NEW).peak == 8192 * 2 * MLP
    assert activations(facts(), 2, Batch(8192, 8), NEW).peak == 8192 * 2 * (3 * 4096 + 3 * 14336 // 2)
    sampled = activations(facts(), 1, Batch(2048, 1024), NEW)
    assert (sampled.peak, sampled.cause) == (1024 * 128256 * 6, "sampler")


def test_older_samplers_sort_and_sorting_much_takes_workspace() -> None:
    assert activations(facts(), 1, Batch(2048, 256), OLD).sampler == 256 * 128256 * 22
    assert activations(facts(), 1, Batch(2048, 1024), OLD).sampler == 1024 * 128256 * 36


def test_tokens_pass_all_experts_that_they_visit() -> None:
    moe = facts(config(num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768, hidden_size=2048))
    width = 8 * (2048 + 768) + 2048
    assert activations(moe, 1, Batch(8192, 8), NEW).forward == 8192 * 2 * (3 * 2048 + width)


def test_latents_of_a_long_context_are_unpacked() -> None:
    latent = facts(
        config(
            model_type="deepseek_v3",
            kv_lora_rank=512,
            qk_rope_head_dim=64,
            qk_nope_head_dim=128,
            v_head_dim=128,
            num_attention_heads=128,
        )
    )
    long = activations(latent, 8, Batch(2048, 8, 131072), NEW).forward
    short = activations(latent, 8, Batch(2048, 8, 1024), NEW).forward
    assert long - short == (65_536 - 8 * 1024) * 16 * 256 * 2


def test_sparse_attention_gathers_indexer_keys_instead() -> None:
    sparse = facts(models.sparse_latent())
    assert activations(sparse, 8, Batch(2048, 8, 131072), NEW) == activations(sparse, 8, Batch(2048, 8, 1024), NEW)
    old = activations(sparse, 8, Batch(2048, 8, 131072), OLD).forward
    assert old - activations(sparse, 8, Batch(2048, 8, 131072), NEW).forward == 40 * 131072 * 132


def test_encoders_are_profiled_unless_the_service_reads_text_alone() -> None:
    tower = {"hidden_size": 1152, "intermediate_size": 4304, "image_size": 896, "patch_size": 14, "num_heads": 16}
    model = facts(config(vision_config=tower, mm_tokens_per_image=256))
    seen = activations(model, 1, Batch(8192, 8), NEW)
    assert seen.encoder / GIB == pytest.approx(2.95, rel=0.01)  # 32 images of 4096 patches
    assert activations(model, 1, Batch(8192, 8, images=False), NEW).encoder == 0
