from tests.unit.throughput.replicas import dense_8b, dense_70b_fp8, sizing


def test_the_replica_runs_what_the_plan_has_room_for() -> None:
    found = sizing(dense_8b(), length=4096)
    assert found.replica is not None
    assert found.plan.kv_cache_tokens is not None
    assert found.replica.kv_tokens == found.plan.kv_cache_tokens
    assert found.replica.slots(3000, 1096) == found.plan.kv_cache_tokens / 4096
    assert found.replica.slots(10, 10) == 1024  # the engine's own limit
    assert found.refusals == ()


def test_a_plan_that_cannot_work_has_no_replica_and_says_why() -> None:
    found = sizing(dense_70b_fp8(), "NVIDIA-L4")
    assert found.replica is None
    (why,) = found.refusals
    assert "tensorParallelSize 1" in why
