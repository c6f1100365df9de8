"""A lock outlives releases: the hashes below are those of running fleets and must never change."""

from typing import Any

import pytest

from inference_fleet.api.v1alpha1.status import EngineStatus, PoolStatus
from inference_fleet.planning.lock import frozen_plan, lock_inputs, lock_of
from inference_fleet.planning.plan import LockedEngine
from inference_fleet.planning.planner import merged_engine
from tests.unit.planning import shapes

ENGINE = LockedEngine(
    image=shapes.IMAGE,
    tensor_parallel_size=2,
    max_model_len=16384,
    max_num_seqs=128,
    gpu_memory_utilization=0.92,
    enable_prefix_caching=True,
    kv_cache_dtype="auto",
    extra_args=("--seed", "7"),
)
DIGEST = "sha256:aaaa"


def inputs(*, image: str = shapes.IMAGE, digest: str | None = DIGEST, **given: Any) -> str:
    service = shapes.spec(
        **{"engine": {"maxModelLen": 16384}, "workload": {"inputTokens": 9, "outputTokens": 9}, **given}
    )
    pool = service.pools[0]
    return lock_inputs(service, pool, merged_engine(service, pool), image, digest)


def test_the_hashes_of_running_fleets_stay() -> None:
    assert lock_of(ENGINE, DIGEST) == "da72a6dcdd"
    assert inputs() == "518de643df"


@pytest.mark.parametrize(
    "change",
    [
        {"image": "vllm/vllm-openai:v0.32.0"},
        {"digest": "sha256:bbbb"},
        {"gpu": "NVIDIA-L4"},
        {"tensorParallelSize": 4},
        {"engine": {"maxModelLen": 8192}},
        {"engine": {"maxModelLen": 16384, "extraArgs": ["--seed", "8"]}},
        {"workload": None},
    ],
)
def test_what_a_plan_is_made_from_makes_another_lock(change: dict[str, Any]) -> None:
    assert inputs(**change) != inputs()


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": {"min": 3, "max": 9}},
        {"tolerations": [{"operator": "Exists"}]},
        {"costPerGPUHour": 9.0},
        {"engine": {"maxModelLen": 16384, "resources": {"cpu": "9"}}},
    ],
)
def test_what_does_not_reach_the_engine_keeps_the_lock(change: dict[str, Any]) -> None:
    assert inputs(**change) == inputs()


def test_a_status_that_was_planned_from_something_else_is_not_kept() -> None:
    locked = EngineStatus(image="x:1", tensor_parallel_size=1, gpu_memory_utilization=0.9)
    status = PoolStatus(name="a", gpu=shapes.H100, engine=locked, lock="abc", lock_inputs="now")
    assert frozen_plan(status, (), "later") is None
    kept = frozen_plan(status, ("--seed", "7"), "now")
    assert kept is not None
    assert kept.engine is not None
    assert (kept.lock, kept.engine.image, kept.engine.extra_args) == ("abc", "x:1", ("--seed", "7"))
