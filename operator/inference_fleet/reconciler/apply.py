"""Make the cluster say what the core decided, and write only what differs.

A child is written when it is missing, when the desired manifest changed, or when the live object was found to say
something else. What was found in sync, or was just written, is remembered by the hash of the live content, so that an
object that a webhook keeps mutating is not written again and again.

An object of somebody else that happens to have a child's name is never taken over: a child is created without
force, after a look where that makes no conflict. Only what carries our owner reference is written with force.
"""

import asyncio
from collections.abc import Sequence

from inference_fleet.api import labels
from inference_fleet.api.conditions import Reason
from inference_fleet.clients import kube
from inference_fleet.clients.kube import ApiError, KubeClient
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler.cache import Cache
from inference_fleet.reconciler.drift import in_sync
from inference_fleet.reconciler.observed import ChildView, ServiceView, child_view
from inference_fleet.reconciler.outcome import Failures
from inference_fleet.resources.inputs import Manifest
from inference_fleet.warmpool.pods import RoleChange


class NameTakenError(Exception):
    """An object of this kind and name exists and is not ours."""

    def __init__(self, kind: str, name: str) -> None:
        """Name the object."""
        super().__init__(f"{kind} {name} belongs to somebody else; delete it, or give the service or pool another name")
        self.kind = kind
        self.name = name


class Applier:
    """Writes roles, children and deletions of one service after another."""

    def __init__(self, client: KubeClient, cache: Cache, metrics: Metrics) -> None:
        """Write through `client`, and tell `cache` what the server answered."""
        self._client = client
        self._cache = cache
        self._metrics = metrics

    async def change_roles(self, namespace: str, changes: Sequence[RoleChange]) -> str | None:
        """Patch pods one after the other, demotions first as they come. A pod that is gone is no error.

        A refused patch (a policy, a webhook) stops neither the others nor what comes after; the first is returned.
        """
        refusal: str | None = None
        for change in changes:
            patch = {
                "metadata": {
                    "uid": change.uid,
                    "labels": {labels.ROLE: change.role},
                    "annotations": {labels.POD_DELETION_COST: change.deletion_cost},
                }
            }
            try:
                body = await self._client.merge(kube.POD, namespace, change.name, patch)
            except ApiError as error:
                if error.not_found or error.status == 409:
                    continue
                if error.status not in (400, 403, 422):
                    raise
                refusal = refusal or f"the role of pod {change.name} cannot be changed: {error.message}"
                continue
            self._metrics.wrote("Pod", "patch")
            self._cache.put("Pod", body)
        return refusal

    async def apply(self, service: ServiceView, desired: Sequence[Manifest], before: Failures) -> tuple[Failures, int]:
        """Bring every child in sync. Returns what failed, and how many objects were written.

        One failure does not stop the others. What passes by itself (a conflict, the API server's overload or outage) is
        raised: it is not the service's fault and comes again with backoff.
        """
        results = await asyncio.gather(*(self._sync(service, m) for m in desired), return_exceptions=True)
        taken = set(before.taken_names)
        refusals: list[tuple[Reason, str]] = []
        for result in results:
            match result:
                case NameTakenError() if result.kind == "Service" or result.name in before.taken_names:
                    refusals.append((Reason.NAME_CONFLICT, str(result)))
                case NameTakenError():
                    taken.add(result.name)  # the pool gets its other name in the next pass
                case ApiError() if result.status in (400, 403, 404, 422):
                    refusals.append((Reason.APPLY_FAILED, result.message))
                case BaseException():
                    raise result
        reason, message = refusals[0] if refusals else (Reason.APPLY_FAILED, None)
        return Failures(frozenset(taken), reason, message), sum(result is True for result in results)

    async def prune(self, children: Sequence[ChildView]) -> None:
        """Delete children that nothing asks for; their dependents follow in the background."""
        for child in children:
            await self._client.delete(kube.CHILD_KINDS[child.kind], child.namespace, child.name, child.uid)
            self._metrics.wrote(child.kind, "delete")

    async def _sync(self, service: ServiceView, manifest: Manifest) -> bool:
        kind = kube.CHILD_KINDS[manifest["kind"]]
        namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
        desired = manifest["metadata"]["annotations"][labels.APPLIED_HASH]
        child = self._cache.child(kind.name, namespace, name)
        if child is not None and child.owner_uid == service.uid:
            if child.verified == desired:
                return False
            if child.applied == desired and _says(child, manifest):
                self._cache.put_child(child.as_verified(desired))
                return False
            await self._write(kind, manifest, force=True)
            return True
        await self._create(service, kind, manifest, look_first=child is not None or kind is kube.SERVICE)
        return True

    async def _create(self, service: ServiceView, kind: kube.Kind, manifest: Manifest, *, look_first: bool) -> None:
        """Write what is not there yet, or is an orphan of ours.

        The conflict of an unforced write protects an object of somebody else, with two exceptions that are looked at
        first: a Service without a selector, such as `kubernetes`, would take ours; and what another service of ours
        owns was written by the same field manager.
        """
        namespace, name = manifest["metadata"]["namespace"], manifest["metadata"]["name"]
        live = await self._live(kind, namespace, name) if look_first else None
        if live is None or _orphaned(live, manifest):
            try:
                await self._write(kind, manifest, force=False)
            except ApiError as error:
                if error.status not in (409, 422):
                    raise
                live = await self._live(kind, namespace, name)
                if live is None:
                    raise
            else:
                return
        owners = _controllers(live)
        if any(ref["uid"] == service.uid for ref in owners):
            await self._write(kind, manifest, force=True)
        elif any((ref["kind"], ref["name"]) == (labels.KIND, service.key.name) for ref in owners):
            raise ApiError(409, "BeingDeleted", f"{kind.name} {name} of the service's predecessor is still there")
        else:
            raise NameTakenError(kind.name, name)

    async def _live(self, kind: kube.Kind, namespace: str, name: str) -> Manifest | None:
        try:
            return await self._client.get(kind, namespace, name)
        except ApiError as error:
            if error.not_found:
                return None
            raise

    async def _write(self, kind: kube.Kind, manifest: Manifest, *, force: bool) -> None:
        written = await self._client.apply(kind, manifest, force=force)
        self._metrics.wrote(kind.name, "create" if written.created else "apply")
        desired = manifest["metadata"]["annotations"][labels.APPLIED_HASH]
        self._cache.put_child(child_view(kind.name, written.body).as_verified(desired))


def _controllers(live: Manifest) -> list[dict[str, str]]:
    return [ref for ref in live["metadata"].get("ownerReferences", ()) if ref.get("controller")]


def _orphaned(live: Manifest, manifest: Manifest) -> bool:
    """Whether a child outlived its service (`kubectl delete --cascade=orphan`)."""
    found, wanted = live["metadata"].get("labels") or {}, manifest["metadata"]["labels"]
    ours = all(found.get(label) == wanted[label] for label in (labels.MANAGED_BY, labels.SERVICE))
    return ours and not _controllers(live)


def _says(child: ChildView, manifest: Manifest) -> bool:
    return child.body is not None and in_sync(
        {"metadata": manifest["metadata"], "spec": manifest["spec"]}, child.live()
    )
