from typing import Any

import pytest

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.resources.quantity import to_bytes
from tests.unit.resources.fleets import GIB, engine_of, fleet, locked, pod_of, spec

MIB = 2**20


def shm_of(built: Any) -> int:
    volumes = {volume["name"]: volume for volume in pod_of(built)["volumes"]}
    mounts = {mount["mountPath"]: mount["name"] for mount in engine_of(built)["volumeMounts"]}
    volume = volumes[mounts["/dev/shm"]]["emptyDir"]  # noqa: S108
    assert volume["medium"] == "Memory"
    return to_bytes(volume["sizeLimit"])


@pytest.mark.parametrize("tensor_parallel_size", [1, 2, 4, 8, 16])
def test_shared_memory_holds_the_rings_of_every_worker(tensor_parallel_size: int) -> None:
    built = fleet(engine=locked(tensor_parallel_size))
    assert shm_of(built) >= (160 + 240 * tensor_parallel_size) * MIB


def test_given_memory_is_the_engines_own_and_shared_memory_comes_on_top() -> None:
    built = fleet(engine=locked(4), resources={"memory": "32Gi"})
    resources = engine_of(built)["resources"]
    for bound in ("requests", "limits"):
        assert to_bytes(resources[bound]["memory"]) == 32 * GIB + shm_of(built)


@pytest.mark.parametrize("tensor_parallel_size", [1, 2, 4, 8])
def test_planned_memory_and_cores_grow_with_the_gpus(tensor_parallel_size: int) -> None:
    built = fleet(engine=locked(tensor_parallel_size))
    requests, limits = (engine_of(built)["resources"][bound] for bound in ("requests", "limits"))
    assert requests["cpu"] == str(2 + tensor_parallel_size)
    assert to_bytes(requests["memory"]) <= to_bytes(limits["memory"])
    assert to_bytes(requests["memory"]) >= tensor_parallel_size * 4 * GIB + shm_of(built)
    assert "cpu" not in limits


def test_a_small_gpu_node_of_16_gibibytes_can_hold_a_planned_engine() -> None:
    assert to_bytes(engine_of(fleet())["resources"]["requests"]["memory"]) <= 12 * GIB


def test_gpus_are_asked_for_by_the_name_of_the_pool_or_the_vendor() -> None:
    def gpus(built: Any) -> dict[str, dict[str, str]]:
        resources = engine_of(built)["resources"]
        return {bound: {k: v for k, v in resources[bound].items() if "/" in k} for bound in resources}

    assert gpus(fleet(engine=locked(2))) == {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}
    assert "amd.com/gpu" in gpus(fleet(gpu_type=GpuCatalog.builtin().find("AMD_Instinct_MI300X_OAM")))["limits"]
    named = fleet(spec(pool={"resourceName": "nvidia.com/mig-3g.40gb"}))
    assert list(gpus(named)["limits"]) == ["nvidia.com/mig-3g.40gb"]


def test_equal_quantities_written_differently_give_the_same_pod() -> None:
    one = fleet(resources={"cpu": "1000m", "memory": "2048Mi"})
    other = fleet(resources={"cpu": "1", "memory": "2Gi"})
    assert pod_of(one) == pod_of(other)
