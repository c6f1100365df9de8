"""The fleet of the benchmarks: N services of three pools, one of which runs a pod."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from e2e.cluster import Cluster
from e2e.operator_process import IMAGE
from inference_fleet.api import labels, names
from inference_fleet.cli.input import load_catalog
from inference_fleet.reconciler.cache import Observed
from inference_fleet.reconciler.observed import service_view
from inference_fleet.reconciler.outcome import Failures, Policy
from inference_fleet.reconciler.reconcile import reconcile
from inference_fleet.resources.inputs import RenderSettings

Json = dict[str, Any]

H100, A100, L40S = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB", "NVIDIA-L40S"
POOLS = {"h100": (H100, 1), "a100": (A100, 0), "l40s": (L40S, 0)}
"""GPU type and replicas.min of each pool."""
CHILDREN_PER_SERVICE = 2 + 2 * len(POOLS)
_CLAIM = "models"


def name(index: int) -> str:
    """The name of a service."""
    return f"s{index:04}"


def service(index: int) -> Json:
    """One service. Its model is on a claim, which the operator does not read, so every value is given."""
    pools = [
        {"name": pool, "gpu": gpu, "replicas": {"min": serving, "max": 8}} for pool, (gpu, serving) in POOLS.items()
    ]
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"name": name(index)},
        "spec": {
            "model": {"name": f"model-{index}", "uri": f"pvc://{_CLAIM}/model-{index}"},
            "engine": {"image": "vllm/vllm-openai:v0.33.0", "maxModelLen": 4096, "maxNumSeqs": 8},
            "pools": pools,
            "warmPool": {"percent": 0, "min": 0},
            "drainSeconds": 30,
        },
    }


def child_names(service_name: str) -> list[str]:
    """Names of the children of a service, over all kinds."""
    return [
        names.client_service(service_name),
        names.engines_service(service_name),
        *(names.pool_child(service_name, pool) for pool in POOLS),
    ]


def first_manifests(services: Sequence[Json]) -> list[Json]:
    """What the operator writes for stored services that have no children yet, in its order."""
    policy = Policy(RenderSettings(operator_image=IMAGE), load_catalog(None))
    nothing = Observed(children=(), pods=())
    now = datetime.now(UTC)
    return [
        manifest
        for body in services
        for manifest in reconcile(service_view(body), nothing, _unread, Failures(), policy, now).desired
    ]


def _unread(*_: object) -> None:
    """What is known of a model that no store was asked for."""


def prepare(cluster: Cluster, namespace: str) -> None:
    """Make the namespace and the claim that holds the models."""
    volume = f"{_CLAIM}-{namespace}"
    shared = {"accessModes": ["ReadOnlyMany"], "storageClassName": ""}
    size = {"storage": "1Ti"}
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    cluster.api.request(
        "POST",
        "/api/v1/persistentvolumes",
        {"metadata": {"name": volume}, "spec": {**shared, "capacity": size, "hostPath": {"path": "/models"}}},
    )
    cluster.api.request(
        "POST",
        f"/api/v1/namespaces/{namespace}/persistentvolumeclaims",
        {"metadata": {"name": _CLAIM}, "spec": {**shared, "resources": {"requests": size}, "volumeName": volume}},
    )
