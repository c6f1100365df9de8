import pytest

from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB
from inference_fleet.planning import memory
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
