"""Where a pod finds its model: the volume, and how the engine mounts it.

The engine sees the model read-only at one fixed path, and nothing but its own model: of a node's cache, which other
services and namespaces share, it mounts the model's directory alone (a `subPath`, resolved when the container
starts, after the init container has put the directory there). Only the init container mounts the cache itself.
"""

from dataclasses import dataclass
from typing import Any

from inference_fleet.modelcache.keys import cache_key
from inference_fleet.resources.inputs import Fleet
from inference_fleet.resources.quantity import GIB, from_bytes

MODEL_PATH = "/model"
"""Where the engine finds the model."""
CACHE_PATH = "/models"
"""Where the init container finds the cache."""

_VOLUME = "model"


@dataclass(frozen=True, slots=True)
class ModelVolume:
    """The volume of the model; `key` is the model's directory in it, None for a claim that holds the model already."""

    volume: dict[str, Any]
    engine_mount: dict[str, Any]
    key: str | None
    local_size: str | None = None
    """What the pod takes of the node's own disk."""

    @property
    def cache_mount(self) -> dict[str, Any]:
        """The mount of the init container: writable, the whole cache."""
        return {"name": _VOLUME, "mountPath": CACHE_PATH}


def model_volume(fleet: Fleet) -> ModelVolume:
    """The volume for `spec.model.uri` and `spec.cache.type`."""
    scheme, _, location = fleet.spec.model.uri.partition("://")
    if scheme == "pvc":
        claim, _, path = location.partition("/")
        return _claim(claim, path.strip("/"))
    store = fleet.spec.model.store
    key = cache_key(fleet.spec.model.uri, store.endpoint if store else None, fleet.model.digest or "")
    cache_type = (fleet.spec.cache and fleet.spec.cache.type) or "Node"
    mount = {"name": _VOLUME, "mountPath": MODEL_PATH, "subPath": key, "readOnly": True}
    if cache_type == "Ephemeral":
        size = _cache_size(fleet)
        return ModelVolume({"name": _VOLUME, "emptyDir": {"sizeLimit": size}}, mount, key, local_size=size)
    if cache_type == "PersistentVolumeClaim":
        return ModelVolume({"name": _VOLUME, "ephemeral": {"volumeClaimTemplate": _own_claim(fleet)}}, mount, key)
    host_path = {"path": fleet.settings.cache_host_path, "type": "DirectoryOrCreate"}
    return ModelVolume({"name": _VOLUME, "hostPath": host_path}, mount, key)


def _claim(claim: str, path: str) -> ModelVolume:
    mount: dict[str, Any] = {"name": _VOLUME, "mountPath": MODEL_PATH, "readOnly": True}
    if path:
        mount["subPath"] = path
    volume = {"name": _VOLUME, "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
    return ModelVolume(volume, mount, None)


def _own_claim(fleet: Fleet) -> dict[str, Any]:
    """A claim that lives and dies with its pod, of the default storage class."""
    return {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": _cache_size(fleet)}}}}


def _cache_size(fleet: Fleet) -> str:
    """The model's bytes and a tenth (file system, staging), in whole GiB; the setting where they are not known."""
    if fleet.model.bytes is None:
        return fleet.settings.cache_claim_size
    gibibytes = -(-fleet.model.bytes * 11 // (10 * GIB))
    return from_bytes(max(1, gibibytes) * GIB)
