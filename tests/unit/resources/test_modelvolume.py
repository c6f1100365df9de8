"""Where the model comes from: the store by way of a cache, or a claim that holds it already."""

from typing import Any

import pytest

from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.resources.quantity import to_bytes
from tests.unit.resources.fleets import GIB, engine_of, fleet, pod_of, pull_of, spec


def model_volume(built: Any) -> Any:
    return next(volume for volume in pod_of(built)["volumes"] if volume["name"] == "model")


def engine_mount(built: Any) -> Any:
    return next(mount for mount in engine_of(built)["volumeMounts"] if mount["name"] == "model")


def cached(cache: str, **options: Any) -> Any:
    return fleet(spec(cache={"type": cache}), **options)


def test_a_node_cache_is_the_operators_path() -> None:
    settings = RenderSettings(operator_image="example.org/op:1", cache_host_path="/data/models")
    expected = {"name": "model", "hostPath": {"path": "/data/models", "type": "DirectoryOrCreate"}}
    assert model_volume(fleet(settings=settings)) == expected
    assert model_volume(cached("Node", settings=settings)) == expected


def test_an_ephemeral_cache_has_room_for_the_model_and_is_asked_of_the_nodes_disk() -> None:
    built = cached("Ephemeral", model_bytes=70 * GIB)
    size = model_volume(built)["emptyDir"]["sizeLimit"]
    assert size == "77Gi"
    assert pull_of(built)["resources"]["requests"]["ephemeral-storage"] == size


def test_a_claim_of_its_own_comes_and_goes_with_the_pod() -> None:
    claim = model_volume(cached("PersistentVolumeClaim", model_bytes=GIB))["ephemeral"]["volumeClaimTemplate"]["spec"]
    assert claim == {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}


@pytest.mark.parametrize("cache", ["Ephemeral", "PersistentVolumeClaim"])
def test_a_model_of_unknown_size_gets_the_size_of_the_settings(cache: str) -> None:
    settings = RenderSettings(operator_image="example.org/op:1", cache_claim_size="640Gi")
    assert "640Gi" in str(model_volume(cached(cache, model_bytes=None, settings=settings)))


@pytest.mark.parametrize("size", [1, GIB - 1, GIB, 10 * GIB, 123_456_789_012])
def test_a_cache_has_a_tenth_to_spare(size: int) -> None:
    limit = to_bytes(model_volume(cached("Ephemeral", model_bytes=size))["emptyDir"]["sizeLimit"])
    assert size * 1.1 <= limit <= size * 1.1 + GIB


@pytest.mark.parametrize("cache", ["Node", "Ephemeral", "PersistentVolumeClaim"])
def test_the_engine_sees_its_own_model_only_and_cannot_write_to_it(cache: str) -> None:
    built = cached(cache)
    destination = pull_of(built)["command"][3]
    root = next(mount["mountPath"] for mount in pull_of(built)["volumeMounts"] if mount["name"] == "model")
    mount = engine_mount(built)
    assert destination == f"{root}/{mount['subPath']}"
    assert mount["readOnly"] is True
    assert mount["mountPath"] in engine_of(built)["args"]


def test_another_digest_or_store_is_another_directory() -> None:
    def key(raw: Any) -> str:
        return str(engine_mount(fleet(raw))["subPath"])

    here = spec(model={"store": {"endpoint": "https://a.example.org"}})
    there = spec(model={"store": {"endpoint": "https://b.example.org"}})
    assert len({key(spec()), key(here), key(there)}) == 3


def test_a_claim_that_holds_the_model_is_mounted_read_only_without_a_pull() -> None:
    built = fleet(spec(model={"uri": "pvc://weights/llama/8b/"}), model_bytes=None)
    assert model_volume(built)["persistentVolumeClaim"] == {"claimName": "weights", "readOnly": True}
    assert engine_mount(built) == {"name": "model", "mountPath": "/model", "subPath": "llama/8b", "readOnly": True}
    assert "initContainers" not in pod_of(built)


def test_the_root_of_a_claim_needs_no_sub_path() -> None:
    for uri in ("pvc://weights", "pvc://weights/"):
        assert engine_mount(fleet(spec(model={"uri": uri}))) == {
            "name": "model",
            "mountPath": "/model",
            "readOnly": True,
        }
