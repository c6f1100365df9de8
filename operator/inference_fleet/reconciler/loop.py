"""The level-triggered loop: a few workers take keys from the queue and bring each service where its spec says.

No step depends on which event came or on memory of the last one. What is kept between passes (refused writes) only
saves work, and is learned again after a restart.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from inference_fleet.api import labels
from inference_fleet.api.v1alpha1.spec import Model
from inference_fleet.api.v1alpha1.status import InferenceServiceStatus
from inference_fleet.clients import kube
from inference_fleet.clients.kube import ApiError, KubeClient
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler.apply import Applier
from inference_fleet.reconciler.cache import LATER, Cache, Due
from inference_fleet.reconciler.modelreader import ModelReader
from inference_fleet.reconciler.observed import ServiceKey, ServiceView
from inference_fleet.reconciler.outcome import Failures, ModelRead, Outcome, Policy
from inference_fleet.reconciler.reconcile import reconcile
from inference_fleet.reconciler.status import read_status
from inference_fleet.reconciler.transition import ready_event
from inference_fleet.reconciler.workqueue import WorkQueue

logger = logging.getLogger(__name__)

_WATCHED = (kube.INFERENCE_SERVICE, kube.SERVICE, kube.BUDGET, kube.DEPLOYMENT, kube.POD)
_RELIST_RETRY_SECONDS = 5.0
_OUTAGE_RETRY_SECONDS = (2.0, 10.0)


class Loop:
    """Owns the cache and the queue; `see` feeds them, `work` drains them."""

    def __init__(
        self,
        client: KubeClient,
        models: ModelReader,
        policy: Policy,
        metrics: Metrics,
        *,
        namespaces: tuple[str, ...] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Reconcile the services of `namespaces` (all if empty)."""
        self.cache = Cache()
        self.queue: WorkQueue[ServiceKey] = WorkQueue()
        self.served = asyncio.Event()
        """Set once InferenceServices could be listed: their definition is there."""
        self.listed = False
        self._client = client
        self._models = models
        self._policy = policy
        self._metrics = metrics
        self._namespaces: tuple[str | None, ...] = namespaces or (None,)
        self._clock = clock
        self._applier = Applier(client, self.cache, metrics)
        self._failures: dict[ServiceKey, tuple[str, Failures]] = {}
        metrics.follow_queue(lambda: len(self.queue))
        metrics.follow_fleet(self._statuses)

    def see(self, kind: str, event: str | None, body: dict[str, Any]) -> None:
        """Take in a watch event (`event` None: from a list)."""
        due = self.cache.remove(kind, body) if event == "DELETED" else self.cache.put(kind, body)
        self._enqueue(due)

    async def list_all(self) -> None:
        """Fill the cache before the first decision: an empty cache would look like a fleet without children."""
        while True:
            try:
                for kind in _WATCHED:
                    await self._list(kind, metadata_only=False)
                    self.served.set()
            except ApiError as error:
                logger.warning("cannot list yet, trying again: %s", error)
                await asyncio.sleep(_RELIST_RETRY_SECONDS)
                continue
            break
        self.listed = True
        for service in self.cache.services():
            self.queue.add(service.key)

    async def resync(self, every_seconds: float) -> None:
        """Forget what a watch lost the deletion of, and look at every service once per period, spread over it."""
        while True:
            services = self.cache.services()
            for index, service in enumerate(services):
                self.queue.add(service.key, after=every_seconds * (1 + index / len(services)))
            await asyncio.sleep(every_seconds)
            try:
                for kind in _WATCHED:
                    await self._list(kind, metadata_only=True)
            except ApiError as error:
                logger.warning("resync failed, the next one is due in %s s: %s", every_seconds, error)

    async def work(self) -> None:
        """Reconcile one service after another, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            key = await self.queue.take()
            started = loop.time()
            try:
                result = await self._try(key)
            except asyncio.CancelledError:
                self.queue.done(key, after=0.0)  # for the workers that come after these
                raise
            self._metrics.reconciled(result, loop.time() - started)
            if result == "unreachable":
                # Not this service's fault: no growing backoff, so that all converge soon after the server is back.
                self.queue.done(key, after=random.uniform(*_OUTAGE_RETRY_SECONDS))  # noqa: S311 - spreads retries
            else:
                self.queue.done(key, failed=result != "ok")

    async def _try(self, key: ServiceKey) -> str:
        try:
            await self._reconcile(key)
        except ApiError as error:
            outage = error.status in (0, 429) or error.status >= 500
            log = logger.info if outage or error.status == 409 else logger.warning
            log("%s comes again: %s", key, error, extra={"service": key})
            return "unreachable" if outage else "failed"
        except Exception:  # one broken service must never stop the loop for the others
            logger.exception("reconcile of %s failed", key, extra={"service": key})
            return "failed"
        return "ok"

    async def _reconcile(self, key: ServiceKey) -> None:
        service = self.cache.service(key)
        if service is None or service.deleting:
            self._failures.pop(key, None)
            return
        uid, before = self._failures.get(key, (service.uid, Failures()))
        if uid != service.uid:
            before = Failures()
        outcome = self._decide(service, before)
        if outcome.wants_model is not None:
            self._models.ask(key, outcome.wants_model, self.queue.add)
        refusal = await self._applier.change_roles(key.namespace, outcome.roles)
        if outcome.roles:
            self.queue.add(key, LATER)  # an answer may tell more of a pod than its new role, and its event is then old
        failures, written = await self._applier.apply(service, outcome.desired, before)
        if refusal is not None and failures.message is None:
            failures = replace(failures, message=refusal)
        await self._applier.prune(outcome.prune)
        self._remember(service, failures, before)
        if failures != before:
            outcome = self._decide(service, failures)
        elif written:
            # What was just written is not rolled out yet. The status tells of it a moment later, behind the first
            # writes of services whose spec has changed, and together with what happens until then.
            self.queue.add(key, LATER)
            return
        await self._report(service, outcome.status)
        if failures.message is not None:
            raise ApiError(422, failures.reason, failures.message)

    def _decide(self, service: ServiceView, failures: Failures) -> Outcome:
        observed = self.cache.observed(service.key)

        def answer(model: Model, known_digest: str | None) -> ModelRead:
            return self._models.answer(service.key.namespace, model, known_digest)

        return reconcile(service, observed, answer, failures, self._policy, self._clock())

    def _remember(self, service: ServiceView, failures: Failures, before: Failures) -> None:
        if failures == Failures():
            self._failures.pop(service.key, None)
        else:
            self._failures[service.key] = (service.uid, failures)
        if failures.taken_names != before.taken_names:
            self.queue.add(service.key)

    async def _report(self, service: ServiceView, status: InferenceServiceStatus) -> None:
        raw = status.model_dump(mode="json", by_alias=True, exclude_none=True)
        if raw == service.status:
            return
        key = service.key
        try:
            body = await self._client.apply_status(key.namespace, key.name, service.uid, raw)
        except ApiError as error:
            if error.not_found or error.status == 409:
                return
            raise
        self._metrics.wrote("InferenceService", "status")
        self.cache.put("InferenceService", body)
        if body["metadata"].get("generation", 0) != service.generation:
            self.queue.add(key)  # the spec changed meanwhile: the answer tells it before its event, which is then old
        event = ready_event(service, read_status(service.status).conditions, status.conditions, self._clock())
        if event is not None:
            with contextlib.suppress(ApiError):  # an Event is a courtesy; the condition says the same
                await self._client.create(kube.EVENT, key.namespace, event)

    async def _list(self, kind: kube.Kind, *, metadata_only: bool) -> None:
        selector = "" if kind is kube.INFERENCE_SERVICE else labels.CHILD_SELECTOR
        known = self.cache.known(kind.name)
        alive = set()
        for namespace in self._namespaces:
            async for body in self._client.list(kind, namespace, selector=selector, metadata_only=metadata_only):
                alive.add(body["metadata"]["uid"])
                if not metadata_only:
                    self._enqueue(self.cache.put(kind.name, body))
        self._enqueue(self.cache.sweep(known, alive))

    def _enqueue(self, due: list[Due]) -> None:
        for key, after in due:
            if self.listed:
                self.queue.add(key, after)

    def _statuses(self) -> Iterator[tuple[str, str, Any]]:
        for service in self.cache.services():
            yield service.key.namespace, service.key.name, service.status
