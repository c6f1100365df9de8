"""InferenceServices as a user makes them and looks at them, in one namespace."""

import json
from collections.abc import Callable
from typing import Any

from e2e.cluster import Cluster
from e2e.cluster.api import ApiError
from e2e.cluster.errors import wait_for
from inference_fleet.api import labels

Json = dict[str, Any]

H100 = "NVIDIA-H100-80GB-HBM3"
A100 = "NVIDIA-A100-SXM4-80GB"
SETTLES_SECONDS = 30.0


def pool(name: str = "h100", gpu: str = H100, serving: int = 2, most: int = 8, **more: Any) -> Json:
    return {"name": name, "gpu": gpu, "replicas": {"min": serving, "max": most}, **more}


def service(name: str = "chat", *pools: Json, **spec: Any) -> Json:
    """A service whose model is not read, so that every value is given."""
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": {"name": name},
        "spec": {
            "model": {"name": "tiny", "uri": "pvc://models/tiny"},
            "engine": {"image": "vllm/vllm-openai:v0.32.0", "maxModelLen": 4096, "maxNumSeqs": 8},
            "pools": list(pools or (pool(),)),
            "drainSeconds": 10,
            **spec,
        },
    }


class Fleet:
    """One namespace of the cluster."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def make_claim(self) -> None:
        """The claim `models`, bound to a volume that no pod really mounts here."""
        volume = f"models-{self.namespace}"
        shared = {"accessModes": ["ReadOnlyMany"], "storageClassName": ""}
        size = {"storage": "1Ti"}
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": volume},
                "spec": {**shared, "capacity": size, "hostPath": {"path": "/models"}},
            }
        )
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": "models"},
                "spec": {**shared, "resources": {"requests": size}, "volumeName": volume},
            }
        )
        self.until("the claim being bound", lambda: self.get("pvc", "models").get("status", {}).get("phase") == "Bound")

    def apply(self, manifest: Json) -> None:
        self.kubectl("apply", "-f", "-", stdin=json.dumps(manifest))

    def patch(self, name: str, spec: Json) -> None:
        self.kubectl("patch", "inferenceservice", name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def kubectl(self, *args: str, stdin: str | None = None) -> str:
        return self.cluster.kubectl("-n", self.namespace, *args, stdin=stdin)

    def get(self, kind: str, name: str) -> Json:
        found: Json = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def exists(self, kind: str, name: str) -> bool:
        return self.kubectl("get", kind, name, "--ignore-not-found", "-o", "name") != ""

    def children(self, service: str, kind: str) -> list[Json]:
        items = self.kubectl("get", kind, "-l", f"{labels.SERVICE}={service}", "-o", "json")
        found: list[Json] = json.loads(items)["items"]
        return found

    def pods(self, service: str = "chat", role: str | None = None) -> list[Json]:
        """Pods that are not being deleted."""
        pods = [pod for pod in self.children(service, "pods") if "deletionTimestamp" not in pod["metadata"]]
        return [pod for pod in pods if role is None or pod["metadata"]["labels"][labels.ROLE] == role]

    def endpoints(self, service: str) -> set[str]:
        """The uids of the pods that a Service sends requests to."""
        slices = self.kubectl("get", "endpointslices", "-l", f"kubernetes.io/service-name={service}", "-o", "json")
        ends = [end for item in json.loads(slices)["items"] for end in item.get("endpoints") or []]
        return {end["targetRef"]["uid"] for end in ends if end["conditions"]["ready"]}

    def status(self, name: str = "chat") -> Json:
        path = f"/apis/{labels.API_VERSION}/namespaces/{self.namespace}/{labels.PLURAL}/{name}"
        body = self.cluster.api.request("GET", path)
        status: Json = body.get("status", {})
        return {**status, "generation": body["metadata"]["generation"]}

    def condition(self, name: str = "chat", kind: str = "Ready") -> Json:
        found = next((c for c in self.status(name).get("conditions", []) if c["type"] == kind), None)
        return found or {"status": None, "reason": None, "message": ""}

    def until(self, what: str, check: Callable[[], Any], seconds: float = SETTLES_SECONDS) -> Any:
        """Wait for a condition; a pod or object that is gone in between is a "not yet"."""

        def passing() -> Any:
            try:
                return check()
            except ApiError as error:
                if error.status == 404:
                    return None
                raise

        return wait_for(what, passing, seconds=seconds, on_timeout=lambda: json.dumps(self._picture(), indent=1))

    def until_ready(self, name: str = "chat", seconds: float = SETTLES_SECONDS) -> Json:
        """Ready for the newest generation, standby included."""

        def ready() -> Json | None:
            status = self.status(name)
            conditions = {c["type"]: c for c in status.get("conditions", [])}
            current = status.get("observedGeneration") == status["generation"]
            full = all(conditions.get(kind, {}).get("status") == "True" for kind in ("Ready", "WarmPoolFull"))
            return status if current and full else None

        status: Json = self.until(f"{name} becoming Ready", ready, seconds)
        return status

    def until_reason(self, reason: str, name: str = "chat", kind: str = "Ready") -> Json:
        def told() -> Json | None:
            condition = self.condition(name, kind)
            return condition if condition["reason"] == reason else None

        condition: Json = self.until(f"{kind} of {name} having the reason {reason}", told)
        return condition

    def _picture(self) -> Json:
        services = json.loads(self.kubectl("get", "inferenceservices", "-o", "json"))["items"]
        pods = json.loads(self.kubectl("get", "pods", "-o", "json"))["items"]
        return {
            "services": {s["metadata"]["name"]: s.get("status", {}).get("conditions") for s in services},
            "pods": {p["metadata"]["name"]: [p["metadata"]["labels"].get(labels.ROLE), p["status"]] for p in pods},
        }
