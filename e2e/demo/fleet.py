"""What runs: InferenceServices, their Deployments, pods and budgets, read from the API server."""

from dataclasses import dataclass
from typing import Any

from e2e.cluster import Cluster
from e2e.demo.loss import is_ready
from inference_fleet.api import labels

Json = dict[str, Any]
NAMESPACE = "default"


@dataclass(frozen=True)
class Pod:
    """An engine pod that is not on its way out."""

    name: str
    pool: str
    role: str
    node: str
    ready: bool


@dataclass(frozen=True)
class PoolView:
    """One pool: its Deployment, its pods, its budget."""

    deployment: str
    gpu: str
    gpus_per_pod: int
    pods: tuple[Pod, ...]
    min_available: int
    evictions_allowed: int

    def with_role(self, role: str) -> list[Pod]:
        """Loaded pods of a role."""
        return [pod for pod in self.pods if pod.role == role and pod.ready]


def service(cluster: Cluster, name: str) -> Json:
    """One InferenceService."""
    path = f"/apis/{labels.API_VERSION}/namespaces/{NAMESPACE}/{labels.PLURAL}/{name}"
    found: Json = cluster.api.request("GET", path)
    return found


def exists(cluster: Cluster, name: str) -> bool:
    """Whether there is a service of that name."""
    listed = cluster.kubectl("get", labels.PLURAL, name, "-n", NAMESPACE, "--ignore-not-found", "-o", "name")
    return bool(listed.strip())


def condition(body: Json, kind: str) -> Json:
    """A condition of an object; one that says nothing where it is not there."""
    conditions = body.get("status", {}).get("conditions") or ()
    return next((c for c in conditions if c["type"] == kind), {"status": "Unknown", "reason": "", "message": ""})


def settled(body: Json) -> bool:
    """Whether a service is Ready for its newest generation, standby included."""
    current = body.get("status", {}).get("observedGeneration") == body["metadata"]["generation"]
    return current and all(condition(body, kind)["status"] == "True" for kind in ("Ready", "WarmPoolFull"))


def progress(body: Json) -> str:
    """How far a service is, in a few words."""
    totals = body.get("status", {}).get("totals")
    reason = condition(body, "Ready")["reason"] or "waiting for the operator"
    if not totals:
        return str(reason)
    return f"{reason}, {totals['serving']} serving, {totals['warm']} warm"


def pods_of(cluster: Cluster, name: str) -> tuple[Pod, ...]:
    """The pods of a service."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={labels.SERVICE}={name}"
    return tuple(
        Pod(
            name=pod["metadata"]["name"],
            pool=pod["metadata"]["labels"][labels.POOL],
            role=pod["metadata"]["labels"].get(labels.ROLE, ""),
            node=pod["spec"].get("nodeName", ""),
            ready=is_ready(pod),
        )
        for pod in cluster.api.request("GET", path)["items"]
        if "deletionTimestamp" not in pod["metadata"]
    )


def pools(cluster: Cluster, name: str) -> tuple[PoolView, ...]:
    """The pools of a service, in the order of its spec."""
    pods = sorted(pods_of(cluster, name), key=lambda pod: pod.node)
    deployments = {
        deployment["metadata"]["labels"][labels.POOL]: deployment["metadata"]["name"]
        for deployment in _children(cluster, "apps/v1", "deployments", name)
    }
    budgets = {
        budget["metadata"]["labels"][labels.POOL]: budget
        for budget in _children(cluster, "policy/v1", "poddisruptionbudgets", name)
    }
    status = service(cluster, name).get("status", {})
    return tuple(
        PoolView(
            deployment=deployments[pool["name"]],
            gpu=pool["gpu"],
            gpus_per_pod=pool["engine"]["tensorParallelSize"],
            pods=tuple(pod for pod in pods if pod.pool == pool["name"]),
            min_available=budgets[pool["name"]]["spec"]["minAvailable"],
            evictions_allowed=budgets[pool["name"]].get("status", {}).get("disruptionsAllowed", 0),
        )
        for pool in status.get("pools") or ()
        if pool["name"] in deployments and pool["name"] in budgets and pool.get("engine")
    )


def _children(cluster: Cluster, version: str, plural: str, name: str) -> list[Json]:
    path = f"/apis/{version}/namespaces/{NAMESPACE}/{plural}?labelSelector={labels.SERVICE}={name}"
    items: list[Json] = cluster.api.request("GET", path)["items"]
    return items
