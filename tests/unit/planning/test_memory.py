import pytest

from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB
from inference_fleet.planning import memory
from tests.unit.planning import models
from tests.unit.planning.shapes import config, facts, large

OLD = engine_version("v:0.11.2")


def test_the_usable_share_is_rounded_up() -> None:
    assert memory.requested(1001, 0.5) == 501


@pytest.mark.parametrize(
    ("shape", "tp", "loaded"),
    [(config(), 1, 14.99), (large(), 8, 16.46)],
)
def test_weights_of_a_rank_are_what_engines_report(shape: dict[str, object], tp: int, loaded: float) -> None:
    assert memory.weights(facts(shape), tp) / GIB == pytest.approx(loaded, rel=0.001)


def test_more_ranks_than_kv_heads_keep_a_whole_kv_head_each() -> None:
    few = facts(config(num_key_value_heads=2))
    kept = 32 * 2 * 4096 * 128 * 2 * (1 - 2 / 8)
    assert memory.weights(few, 8) >= few.weights_bytes / 8 + kept
    assert memory.weights(few, 2) < few.weights_bytes / 2 + kept


def test_latents_keep_down_projections_whole_and_up_projections_twice() -> None:
    """641.3 GiB in the store; engines report 79.74 GiB on each of 8 ranks and 40.32 on each of 16."""
    model = facts(models.latent(), weights=int(641.3 * GIB))
    assert memory.weights(model, 8) / GIB == pytest.approx(79.74, rel=0.01)
    assert memory.weights(model, 16) / GIB == pytest.approx(40.32, rel=0.015)


@pytest.mark.parametrize(("layers", "loaded"), [(24, 13.72), (36, 65.97)])
def test_mxfp4_experts_are_padded(layers: int, loaded: float) -> None:
    assert memory.weights(facts(models.alternating(layers)), 1) / GIB == pytest.approx(loaded, rel=0.005)


def test_rotary_tables_are_on_every_rank() -> None:
    long = facts(config(max_position_embeddings=10_485_760))
    assert memory.weights(long, 8) - memory.weights(facts(), 8) == (10_485_760 - 131_072) * 128 * 2


def test_a_drafter_of_the_checkpoint_or_one_layer_more() -> None:
    assert memory.draft_weights(facts(models.latent()), 8, own=True) == facts(models.latent()).draft_bytes // 8
    assert memory.draft_weights(facts(), 1, own=False) / GIB == pytest.approx(0.47, rel=0.02)
