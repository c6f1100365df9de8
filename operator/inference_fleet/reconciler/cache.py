"""The operator's picture of the cluster, kept by watches and mended by lists.

Versions order the events: what is older than what is known is dropped, so that a late event cannot undo what a write
of ours already told, nor bring back the predecessor of an object of the same name. A watch can lose deletions across
a re-list; `sweep` removes what a full list no longer has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from inference_fleet.api.names import label_value
from inference_fleet.reconciler.observed import (
    ChildView,
    PodState,
    ServiceKey,
    ServiceView,
    child_view,
    pod_state,
    service_view,
)

Json = dict[str, Any]
Ref = tuple[str, str, str]
"""Kind, namespace, name."""
Due = tuple[ServiceKey, float]
"""A service, and in how many seconds it is to be looked at."""

SOON = -60.0
"""For a change that needs an answer (a spec, a pod, a hand edit): it overtakes what merely waits."""
LATER = 1.0
"""For a change that only status shows: a rollout's many small steps become one write."""

_GONE_KEPT = 4096
"""Deletions that are remembered: far more than come while one request is under way."""


@dataclass(frozen=True, slots=True)
class Observed:
    """All that is known of one service's children."""

    children: tuple[ChildView, ...]
    pods: tuple[PodState, ...]

    def owned_by(self, uid: str) -> "Observed":
        """Without children that carry the service's labels and belong to somebody else, such as copies."""
        return replace(self, children=tuple(child for child in self.children if child.owner_uid == uid))


@dataclass(slots=True)
class _Group:
    children: set[Ref] = field(default_factory=set)
    pods: set[Ref] = field(default_factory=set)


class Cache:
    """Views by kind, namespace and name; children and pods grouped by (namespace, service label)."""

    def __init__(self) -> None:
        """Start empty."""
        self._services: dict[ServiceKey, ServiceView] = {}
        self._keys: dict[tuple[str, str], ServiceKey] = {}
        self._children: dict[Ref, ChildView] = {}
        self._pods: dict[Ref, PodState] = {}
        self._groups: dict[tuple[str, str], _Group] = {}
        self._gone: dict[str, int] = {}

    def services(self) -> tuple[ServiceView, ...]:
        """Every known service."""
        return tuple(self._services.values())

    def service(self, key: ServiceKey) -> ServiceView | None:
        """One service."""
        return self._services.get(key)

    def observed(self, key: ServiceKey) -> Observed:
        """What is known of a service's children, in a stable order."""
        group = self._groups.get((key.namespace, label_value(key.name)), _Group())
        return Observed(
            children=tuple(self._children[ref] for ref in sorted(group.children)),
            pods=tuple(self._pods[ref] for ref in sorted(group.pods)),
        )

    def child(self, kind: str, namespace: str, name: str) -> ChildView | None:
        """One child, whoever owns it."""
        return self._children.get((kind, namespace, name))

    def put(self, kind: str, body: Json) -> list[Due]:
        """Take in an object as the API server has it. Returns whose reconcile is due because of it."""
        meta = body["metadata"]
        if self._is_known(kind, meta) or self._is_gone(meta["uid"], int(meta["resourceVersion"])):
            return []
        if kind == "InferenceService":
            return self._put_service(service_view(body))
        if kind == "Pod":
            return self._put_pod(pod_state(body))
        return self.put_child(child_view(kind, body))

    def put_child(self, new: ChildView) -> list[Due]:
        """Take in a child's view: from an event, or from the answer to a write."""
        if self._is_gone(new.uid, new.version):
            return []
        ref = (new.kind, new.namespace, new.name)
        old = self._children.get(ref)
        if old is not None and old.uid != new.uid and old.version > new.version:
            return []
        if old is None or old.uid != new.uid:
            self._join(ref, new.service_label, old)
            self._children[ref] = new
            return self._due(new, SOON)
        if old.version > new.version or (old.version == new.version and new.verified is None):
            return []
        if new.verified is None and old.verified is not None and old.content == new.content:
            new = new.as_verified(old.verified)
        self._join(ref, new.service_label, old)
        self._children[ref] = new
        if old.content != new.content:
            return self._due(new, SOON) + (self._due(old, SOON) if old.service_label != new.service_label else [])
        return self._due(new, LATER) if old.progress != new.progress else []

    def remove(self, kind: str, body: Json) -> list[Due]:
        """Forget a deleted object. Returns as `put`."""
        meta = body["metadata"]
        self._gone[meta["uid"]] = int(meta["resourceVersion"])
        if len(self._gone) > _GONE_KEPT:
            del self._gone[next(iter(self._gone))]
        return self._remove((kind, meta["namespace"], meta["name"]), meta["uid"])

    def known(self, kind: str) -> dict[Ref, str]:
        """The uids that are known of a kind."""
        if kind == "InferenceService":
            return {(kind, key.namespace, key.name): view.uid for key, view in self._services.items()}
        if kind == "Pod":
            return {ref: pod.view.uid for ref, pod in self._pods.items()}
        return {ref: child.uid for ref, child in self._children.items() if ref[0] == kind}

    def sweep(self, known_before: Mapping[Ref, str], alive: Iterable[str]) -> list[Due]:
        """Forget what a full list no longer has. `known_before` is `known` from before the list was asked for."""
        living = set(alive)
        ghosts = [(ref, uid) for ref, uid in known_before.items() if uid not in living]
        return [due for ref, uid in ghosts for due in self._remove(ref, uid)]

    def _is_known(self, kind: str, meta: Json) -> bool:
        """Whether this very version was taken in already: a list and a watch tell the same, and reading is dear."""
        ref = (kind, meta["namespace"], meta["name"])
        known: ServiceView | PodState | ChildView | None
        if kind == "InferenceService":
            known = self._services.get(ServiceKey(meta["namespace"], meta["name"]))
        else:
            known = self._pods.get(ref) if kind == "Pod" else self._children.get(ref)
        uid = known.view.uid if isinstance(known, PodState) else known.uid if known else None
        return known is not None and uid == meta["uid"] and known.version == int(meta["resourceVersion"])

    def _is_gone(self, uid: str, version: int) -> bool:
        """Whether this is a page or an answer from before the object's deletion, which was told already."""
        return version <= self._gone.get(uid, -1)

    def _put_service(self, new: ServiceView) -> list[Due]:
        old = self._services.get(new.key)
        same = old is not None and old.uid == new.uid
        if old is not None and old.version >= new.version:
            return []
        self._services[new.key] = new
        self._keys[(new.key.namespace, label_value(new.key.name))] = new.key
        if old is not None and same and old.generation == new.generation and old.deleting == new.deleting:
            # Metadata or status: our own write, or somebody wiped it.
            return [] if old.status_json == new.status_json else [(new.key, LATER)]
        return [(new.key, SOON)]

    def _put_pod(self, new: PodState) -> list[Due]:
        ref = ("Pod", new.namespace, new.view.name)
        old = self._pods.get(ref)
        if old is not None and old.version >= new.version:
            return []
        self._join(ref, new.service_label, old)
        self._pods[ref] = new
        if old is not None and replace(old, version=new.version, node=new.node) == new:
            return []
        return self._due(new, SOON)

    def _remove(self, ref: Ref, uid: str) -> list[Due]:
        if ref[0] == "InferenceService":
            key = ServiceKey(ref[1], ref[2])
            service = self._services.get(key)
            if service is None or service.uid != uid:
                return []
            del self._services[key]
            self._keys.pop((key.namespace, label_value(key.name)), None)
            return [(key, SOON)]
        view: ChildView | PodState | None = self._pods.get(ref) if ref[0] == "Pod" else self._children.get(ref)
        if view is None or (view.view.uid if isinstance(view, PodState) else view.uid) != uid:
            return []
        self._pods.pop(ref, None)
        self._children.pop(ref, None)
        self._leave(ref, view.service_label)
        return self._due(view, SOON)

    def _join(self, ref: Ref, service_label: str, old: ChildView | PodState | None) -> None:
        if old is not None and old.service_label != service_label:
            self._leave(ref, old.service_label)
        group = self._groups.setdefault((ref[1], service_label), _Group())
        (group.pods if ref[0] == "Pod" else group.children).add(ref)

    def _leave(self, ref: Ref, service_label: str) -> None:
        group = self._groups.get((ref[1], service_label))
        if group is None:
            return
        group.pods.discard(ref)
        group.children.discard(ref)
        if not group.pods and not group.children:
            del self._groups[(ref[1], service_label)]

    def _due(self, view: ChildView | PodState, after: float) -> list[Due]:
        key = self._keys.get((view.namespace, view.service_label))
        return [] if key is None else [(key, after)]
