import pytest

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.throughput.replica import Planned, size_replica
from tests.unit.planning.shapes import IMAGE
from tests.unit.throughput.replicas import dense_8b, dense_70b_fp8, experts, hardware, sizing


def test_the_replica_runs_what_the_plan_has_room_for() -> None:
    found = sizing(dense_8b(), length=4096)
    assert found.replica is not None
    assert found.plan.kv_cache_tokens is not None
    assert found.replica.kv_tokens == pytest.approx(found.plan.kv_cache_tokens, rel=0.001)
    assert found.replica.slots(3000, 1096) == pytest.approx(found.plan.kv_cache_tokens / 4096, rel=0.001)
    assert found.replica.slots(10, 10) == 1024  # the engine's own limit
    assert found.refusals == ()


def test_a_plan_that_cannot_work_has_no_replica_and_says_why() -> None:
    found = sizing(dense_70b_fp8(), "NVIDIA-L4")
    assert found.replica is None
    (why,) = found.refusals
    assert "tensorParallelSize 1" in why


def test_where_blocks_of_experts_do_not_split_whole_experts_do_and_it_says_so() -> None:
    """An expert of 768 in blocks of 128 splits over 2 ranks, not over 4."""
    blocks = experts(quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]})
    assert not sizing(blocks, tp=2).expert_parallel
    four = sizing(blocks, tp=4)
    assert four.replica is not None
    assert four.expert_parallel
    assert four.plan.engine is not None
    assert four.plan.engine.extra_args == ("--enable-expert-parallel",)


def test_the_kv_cache_holds_typical_requests_and_the_longest_must_fit() -> None:
    planned = Planned(dense_8b(), GpuCatalog.builtin(), IMAGE, longest=16_384, typical=1024)
    found = size_replica(planned, hardware(), 1)
    assert found.plan.engine is not None
    assert found.plan.engine.max_model_len == 16_384
    assert found.replica is not None
    assert found.replica.slots(1000, 24) == pytest.approx(
        sizing(dense_8b(), length=1024).plan.max_concurrency, rel=0.01
    )


@pytest.mark.parametrize(("dtype", "element"), [("auto", 2.0), ("fp8", 1.0), ("fp8_e4m3", 1.0)])
def test_the_kv_cache_is_read_in_its_own_type(dtype: str, element: float) -> None:
    planned = Planned(dense_8b(), GpuCatalog.builtin(), IMAGE, longest=4096, typical=4096, kv_cache_dtype=dtype)
    found = size_replica(planned, hardware(), 1).replica
    assert found is not None
    assert found.engine.kv_element == element
