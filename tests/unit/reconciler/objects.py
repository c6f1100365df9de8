"""Raw Kubernetes objects as the API server would send them."""

import itertools
from typing import Any

from inference_fleet.api import labels

_versions = itertools.count(1)

Json = dict[str, Any]


def meta(name: str, *, version: int | None = None, **extra: Any) -> Json:
    return {
        "name": name,
        "namespace": "team-a",
        "uid": f"uid-{name}",
        "resourceVersion": str(version or next(_versions)),
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        **extra,
    }


def service(name: str = "chat", *, version: int | None = None, generation: int = 1, **spec: Any) -> Json:
    base: Json = {
        "model": {"name": "tiny", "uri": "pvc://models/tiny"},
        "engine": {"image": "vllm/vllm-openai:v0.32.0", "maxModelLen": 4096, "maxNumSeqs": 8},
        "pools": [{"name": "h100", "gpu": "NVIDIA-H100-80GB-HBM3", "replicas": {"min": 2, "max": 4}}],
    }
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "metadata": meta(name, version=version, generation=generation),
        "spec": base | spec,
    }


def pod(
    name: str,
    *,
    service: str = "chat",
    pool: str = "h100",
    ready: bool = True,
    role: str = labels.ROLE_SERVING,
    lock: str = "",
    deleting: bool = False,
    version: int | None = None,
    status: Json | None = None,
) -> Json:
    metadata = meta(
        name, version=version, labels={**labels.pool_labels(service, pool), labels.ROLE: role, labels.LOCK: lock}
    )
    if role == labels.ROLE_WARM:
        metadata["annotations"] = {labels.POD_DELETION_COST: "-100"}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T01:00:00Z"
    conditions = [{"type": "Ready", "status": str(ready), "lastTransitionTime": "2026-01-01T00:05:00Z"}]
    return {
        "metadata": metadata,
        "spec": {},
        "status": {"phase": "Running", "conditions": conditions, **(status or {})},
    }


def live(manifest: Json, *, status: Json | None = None, version: int | None = None) -> Json:
    """A child as the server has it after an apply of `manifest`."""
    body = {**manifest, "metadata": {**meta(manifest["metadata"]["name"], version=version), **manifest["metadata"]}}
    if status is not None:
        body["status"] = status
    return body
