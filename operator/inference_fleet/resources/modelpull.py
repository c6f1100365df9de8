"""The init container that fetches the model into the cache: `inference-fleet pull URI DEST`.

It alone gets the store's credentials, as files from the Secret: the kubelet reads the Secret, not the operator, and
nothing secret stands in the pod's environment or in the engine's container.
"""

from typing import Any

from inference_fleet.api import labels
from inference_fleet.resources.environment import SCRATCH_PATH, scratch_mount, variable
from inference_fleet.resources.inputs import Fleet, Manifest, PoolTarget
from inference_fleet.resources.modelvolume import CACHE_PATH, ModelVolume
from inference_fleet.resources.security import container_security_context

PULL_CONTAINER = "pull-model"
CREDENTIALS_DIR = "/var/run/secrets/model-store"
CA_DIR = "/etc/model-store-ca"

_DEFAULT_REGION = "us-east-1"
_GROUP_READABLE = 0o440
_RESOURCES = {"cpu": "500m", "memory": "2Gi"}
"""What the transfer's buffers need; free of charge, for a pod's request is the larger of its init and main one."""


def recorded_pull_image(live: Manifest) -> str | None:
    """The pull image that a live Deployment was last given.

    Read from the annotation, not from the template: a hand edit of the template is drift and is put back.
    """
    image: str | None = live["metadata"].get("annotations", {}).get(labels.PULL_IMAGE)
    return image


def pull_container(fleet: Fleet, target: PoolTarget, model: ModelVolume) -> dict[str, Any] | None:
    """The init container; None for a model that a claim holds already."""
    if model.key is None:
        return None
    digest = [] if fleet.model.digest is None else ["--digest", fleet.model.digest]
    requests = dict(_RESOURCES)
    limits = {"memory": _RESOURCES["memory"]}
    if model.local_size is not None:
        requests["ephemeral-storage"] = model.local_size
    return {
        "name": PULL_CONTAINER,
        "image": target.pull_image or fleet.settings.operator_image,
        "command": ["inference-fleet", "pull", fleet.spec.model.uri, f"{CACHE_PATH}/{model.key}", *digest],
        "env": _environment(fleet),
        "volumeMounts": [model.cache_mount, scratch_mount(), *_store_mounts(fleet)],
        "resources": {"requests": requests, "limits": limits},
        "securityContext": container_security_context(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def store_volumes(fleet: Fleet) -> list[dict[str, Any]]:
    """The volumes of the store's credentials and CA certificates, as far as the spec names them."""
    volumes: list[dict[str, Any]] = []
    store = fleet.spec.model.store
    if store is not None and store.credentials_secret is not None:
        secret = {"secretName": store.credentials_secret, "defaultMode": _GROUP_READABLE}
        volumes.append({"name": "store-credentials", "secret": secret})
    if store is not None and store.ca_config_map is not None:
        config_map = {"name": store.ca_config_map, "items": [{"key": "ca.crt", "path": "ca.crt"}]}
        volumes.append({"name": "store-ca", "configMap": config_map})
    return volumes


def _store_mounts(fleet: Fleet) -> list[dict[str, Any]]:
    paths = {"store-credentials": CREDENTIALS_DIR, "store-ca": CA_DIR}
    return [
        {"name": volume["name"], "mountPath": paths[volume["name"]], "readOnly": True}
        for volume in store_volumes(fleet)
    ]


def _environment(fleet: Fleet) -> list[dict[str, Any]]:
    store = fleet.spec.model.store
    region = (store and store.region) or _DEFAULT_REGION
    environment = [variable("HOME", SCRATCH_PATH), variable("AWS_REGION", region)]
    if store is not None and store.endpoint is not None:
        environment.append(variable("AWS_ENDPOINT_URL", store.endpoint))
    if store is not None and store.ca_config_map is not None:
        environment.append(variable("AWS_CA_BUNDLE", f"{CA_DIR}/ca.crt"))
    if store is not None and store.credentials_secret is not None:
        environment.append(variable("INFERENCE_FLEET_CREDENTIALS_DIR", CREDENTIALS_DIR))
    return environment
