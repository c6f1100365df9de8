"""The pod template of a pool.

A promise over all releases of the operator: the same spec, model digest and lock give the same template, byte for
byte, or an upgrade of the operator would roll every GPU fleet. The golden files under tests/golden hold it. Replica
counts, roles and prices never reach the template.
"""

from typing import Any

from inference_fleet.api import labels
from inference_fleet.api.v1alpha1.spec import Toleration
from inference_fleet.resources.drain import Drain
from inference_fleet.resources.engine import engine_container
from inference_fleet.resources.environment import scratch_volume
from inference_fleet.resources.hostresources import shm_volume
from inference_fleet.resources.inputs import Fleet, PoolTarget
from inference_fleet.resources.modelpull import pull_container, store_volumes
from inference_fleet.resources.modelvolume import ModelVolume, model_volume
from inference_fleet.resources.security import pod_security_context


def pod_template(fleet: Fleet, target: PoolTarget, drain: Drain) -> dict[str, Any]:
    """Pods are born serving: one that is replaced while the operator is down serves without it."""
    pod_labels = {
        **labels.pool_labels(fleet.owner.name, target.pool.name),
        labels.ROLE: labels.ROLE_SERVING,
        labels.LOCK: target.lock,
    }
    annotations = {labels.MODEL_NAME: fleet.spec.model.name, labels.MODEL_URI: fleet.spec.model.uri}
    if fleet.model.digest is not None:
        annotations[labels.MODEL_DIGEST] = fleet.model.digest
    return {"metadata": {"labels": pod_labels, "annotations": annotations}, "spec": _pod_spec(fleet, target, drain)}


def _pod_spec(fleet: Fleet, target: PoolTarget, drain: Drain) -> dict[str, Any]:
    model = model_volume(fleet)
    pull = pull_container(fleet, target, model)
    spec: dict[str, Any] = {} if pull is None else {"initContainers": [pull]}
    return {
        **spec,
        "containers": [engine_container(fleet, target, drain, model)],
        "volumes": _volumes(fleet, target, model),
        "terminationGracePeriodSeconds": drain.grace,
        "enableServiceLinks": False,
        "automountServiceAccountToken": False,
        "securityContext": pod_security_context(),
        **_placement(fleet, target),
    }


def _volumes(fleet: Fleet, target: PoolTarget, model: ModelVolume) -> list[dict[str, Any]]:
    store = [] if model.key is None else store_volumes(fleet)
    return [model.volume, scratch_volume(), shm_volume(target.engine.tensor_parallel_size), *store]


def _placement(fleet: Fleet, target: PoolTarget) -> dict[str, Any]:
    """Where the pod may run and what pulls its images; what the pool leaves out is left out here too."""
    pool = target.pool
    placement: dict[str, Any] = {
        "nodeSelector": {**(pool.node_selector or {}), target.gpu_label: pool.gpu},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": labels.selector_labels(fleet.owner.name, pool.name)},
            }
        ],
    }
    if pool.tolerations:
        placement["tolerations"] = [_toleration(toleration) for toleration in pool.tolerations]
    secrets = dict.fromkeys([*(fleet.spec.image_pull_secrets or ()), *fleet.settings.image_pull_secrets])
    if secrets:
        placement["imagePullSecrets"] = [{"name": name} for name in secrets]
    if pool.priority_class_name:
        placement["priorityClassName"] = pool.priority_class_name
    return placement


def _toleration(toleration: Toleration) -> dict[str, Any]:
    """As the API server stores it: an empty value is dropped there, and would look like drift."""
    given = toleration.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: value for key, value in given.items() if value != ""}
