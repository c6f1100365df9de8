"""Kopf as an engine of watches: every event goes into the cache, and the service's key into the queue.

Only `on.event` handlers: they leave no finalizer, no annotation and no status of kopf's own on any object, and no step
depends on which event came. What kopf would keep for its other kinds of handlers is switched off.
"""

import random
from collections.abc import Iterator
from typing import Any, cast

import kopf
from kopf._core.reactor.inventory import ResourceMemories, ResourceMemory

from inference_fleet.api import labels
from inference_fleet.clients.kube import (
    BUDGET,
    CHILD_KINDS,
    DEPLOYMENT,
    INFERENCE_SERVICE,
    POD,
    SERVICE,
    Kind,
    KubeClient,
)
from inference_fleet.reconciler.loop import Loop

_LIST_PAGE = 50
"""Kopf holds a page and starts a worker per object of it: smaller pages, lower peak of memory."""
_WORKER_IDLE_SECONDS = 0.5


def watch_registry(loop: Loop, client: KubeClient) -> kopf.OperatorRegistry:
    """Handlers for our resource and everything that carries our labels; kopf logs in as `client` does."""
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    async def login(**_: Any) -> kopf.ConnectionInfo:
        return await client.connection_info()

    for kind in (INFERENCE_SERVICE, DEPLOYMENT, SERVICE, BUDGET, POD):
        _watch(registry, kind, loop)
    return registry


def _watch(registry: kopf.OperatorRegistry, kind: Kind, loop: Loop) -> None:
    group, _, version = kind.api_version.rpartition("/")

    @kopf.on.event(group, version, kind.plural, registry=registry, id=kind.plural)
    async def seen(event: kopf.RawEvent, **_: Any) -> None:
        loop.see(kind.name, event["type"], cast("dict[str, Any]", event["object"]))


def watch_settings() -> kopf.OperatorSettings:
    """Kopf's settings for long-lived watches over many objects."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    settings.persistence.diffbase_storage = _NoDiffBase()
    settings.persistence.progress_storage = kopf.StatusProgressStorage(field="status.none")
    settings.queueing.idle_timeout = _WORKER_IDLE_SECONDS
    settings.watching.chunk_size = _LIST_PAGE
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 310
    settings.watching.connect_timeout = 10
    settings.networking.request_timeout = 30
    settings.networking.connect_timeout = 10
    settings.networking.error_backoffs = _Backoffs()
    settings.process.ultimate_exiting_timeout = 20
    for kind in (*CHILD_KINDS.values(), POD):
        group, _, version = kind.api_version.rpartition("/")
        settings.watching.label_selectors[group, version, kind.plural] = labels.CHILD_SELECTOR
    return settings


class _Backoffs:
    """Never give up on the API server: by default kopf ends the process after a minute of failures."""

    def __iter__(self) -> Iterator[float]:
        delay = 1.0
        while True:
            yield delay * random.uniform(0.7, 1.3)  # noqa: S311 - spreads retries
            delay = min(30.0, delay * 2)


class _NoDiffBase(kopf.DiffBaseStorage):
    """Nothing is compared with the last handled state, so it is neither built nor stored."""

    def build(self, **_: Any) -> kopf.BodyEssence:
        return kopf.BodyEssence({})

    def fetch(self, **_: Any) -> kopf.BodyEssence | None:
        return None

    def store(self, **_: Any) -> None:
        raise NotImplementedError("there are no handlers with a last-handled state")


class NoMemories(ResourceMemories):
    """Kopf remembers a record for each object, which only stateful handlers use; here it is dropped at once."""

    async def recall(self, raw_body: Any, **kwargs: Any) -> ResourceMemory:
        """A record for the length of one event."""
        return await super().recall(raw_body, **{**kwargs, "ephemeral": True})
