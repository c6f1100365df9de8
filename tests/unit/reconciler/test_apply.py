"""What is written, and what is left alone."""

import asyncio
import copy
from typing import Any, cast

import pytest

from inference_fleet.api import labels
from inference_fleet.api.conditions import Reason
from inference_fleet.clients.kube import ApiError, Kind, KubeClient, Written
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler.apply import Applier
from inference_fleet.reconciler.cache import Cache
from inference_fleet.reconciler.observed import service_view
from inference_fleet.reconciler.outcome import Failures
from inference_fleet.resources.inputs import Manifest
from inference_fleet.warmpool.pods import RoleChange
from tests.unit.reconciler import objects


class Server:
    """Objects by kind and name. An unforced apply merges as the API server does where no field collides."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], objects.Json] = {}
        self.asked: list[tuple[str, str]] = []
        self.applied: list[tuple[str, str, bool]] = []
        self.refused_pods: dict[str, ApiError] = {}
        self.patched: list[str] = []

    async def get(self, kind: Kind, namespace: str, name: str) -> objects.Json:
        self.asked.append((kind.name, name))
        try:
            return self.objects[kind.name, name]
        except KeyError:
            raise ApiError(404, "NotFound", f"{name} not found") from None

    async def apply(self, kind: Kind, manifest: Manifest, *, force: bool) -> Written:
        name = manifest["metadata"]["name"]
        self.applied.append((kind.name, name, force))
        body = objects.live(copy.deepcopy(manifest))
        created = (kind.name, name) not in self.objects
        self.objects[kind.name, name] = body
        return Written(body, created)

    async def merge(self, kind: Kind, namespace: str, name: str, patch: objects.Json) -> objects.Json:
        if name in self.refused_pods:
            raise self.refused_pods[name]
        self.patched.append(name)
        return objects.pod(name, role=patch["metadata"]["labels"][labels.ROLE])


def budget(**owner: Any) -> Manifest:
    metadata: objects.Json = {
        "name": "chat-h100",
        "namespace": "team-a",
        "labels": labels.pool_labels("chat", "h100"),
        "annotations": {labels.APPLIED_HASH: "hash"},
        "ownerReferences": [{"kind": labels.KIND, "name": "chat", "uid": "uid-chat", "controller": True, **owner}],
    }
    return {"kind": "PodDisruptionBudget", "metadata": metadata, "spec": {"minAvailable": 1}}


def applier(server: Server, cache: Cache | None = None) -> Applier:
    return Applier(cast("KubeClient", server), cache or Cache(), Metrics())


def apply(server: Server, manifest: Manifest, cache: Cache | None = None) -> Failures:
    service = service_view(objects.service())
    failures, _ = asyncio.run(applier(server, cache).apply(service, [manifest], Failures()))
    return failures


def test_what_is_missing_is_created_without_force() -> None:
    server = Server()
    assert apply(server, budget()) == Failures()
    assert server.applied == [("PodDisruptionBudget", "chat-h100", False)]


def test_a_service_without_a_selector_is_not_bent_to_the_fleet() -> None:
    server = Server()
    metadata = {**budget()["metadata"], "name": "kubernetes"}
    server.objects["Service", "kubernetes"] = {"metadata": objects.meta("kubernetes"), "spec": {"ports": []}}
    failures = apply(server, {"kind": "Service", "metadata": metadata, "spec": {"selector": {"role": "serving"}}})
    assert (failures.reason, server.applied) == (Reason.NAME_CONFLICT, [])


@pytest.mark.parametrize("owner", [{"name": "chat-h", "uid": "uid-other"}, {"kind": "Database", "uid": "uid-database"}])
def test_a_child_of_another_owner_is_not_even_tried(owner: objects.Json) -> None:
    server, cache = Server(), Cache()
    server.objects["PodDisruptionBudget", "chat-h100"] = objects.live(budget(**owner))
    cache.put("PodDisruptionBudget", server.objects["PodDisruptionBudget", "chat-h100"])
    assert apply(server, budget(), cache).taken_names == {"chat-h100"}
    assert server.applied == []


def test_a_child_of_the_predecessor_is_waited_for() -> None:
    server, cache = Server(), Cache()
    server.objects["PodDisruptionBudget", "chat-h100"] = objects.live(budget(uid="uid-predecessor"))
    cache.put("PodDisruptionBudget", server.objects["PodDisruptionBudget", "chat-h100"])
    with pytest.raises(ApiError, match="predecessor"):
        apply(server, budget(), cache)
    assert server.applied == []


def test_an_orphan_is_adopted() -> None:
    server, cache = Server(), Cache()
    orphan = objects.live(budget())
    orphan["metadata"]["ownerReferences"] = []
    server.objects["PodDisruptionBudget", "chat-h100"] = orphan
    cache.put("PodDisruptionBudget", orphan)
    assert apply(server, budget(), cache) == Failures()
    assert server.applied == [("PodDisruptionBudget", "chat-h100", False)]


def test_what_was_written_is_neither_asked_for_nor_written_again() -> None:
    server, cache = Server(), Cache()
    apply(server, budget(), cache)
    server.asked.clear()
    apply(server, budget(), cache)
    assert (server.asked, len(server.applied)) == ([], 1)


def test_a_pod_whose_role_may_not_be_changed_does_not_stop_the_others() -> None:
    server = Server()
    server.refused_pods["a"] = ApiError(403, "Forbidden", "denied by policy")
    server.refused_pods["b"] = ApiError(404, "NotFound", "gone")
    changes = [RoleChange(name, f"uid-{name}", "serving", None) for name in ("a", "b", "c")]
    told = asyncio.run(applier(server).change_roles("team-a", changes))
    assert told is not None
    assert "pod a " in told
    assert "denied by policy" in told
    assert server.patched == ["c"]
