"""The operator's start: kopf looks once for what the API server serves, and watches nothing that comes later."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import kopf
import pytest

from inference_fleet.api import labels
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.cli import run
from inference_fleet.clients.kube import ApiError, Kind, KubeClient
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler import loop as loops
from inference_fleet.reconciler.loop import Loop
from inference_fleet.reconciler.outcome import Policy
from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.settings import Settings


class LateDefinition:
    """An API server that does not serve InferenceServices yet."""

    served = False

    async def list(self, kind: Kind, *_: Any, **__: Any) -> AsyncIterator[Any]:
        if kind.name == labels.KIND and not self.served:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        nothing: list[Any] = []
        for body in nothing:
            yield body


def story(monkeypatch: pytest.MonkeyPatch, *, stopped: bool) -> bool:
    """Whether kopf was started, after the definition came or after the operator was stopped while there was none."""
    watching = asyncio.Event()

    async def operator(**_: Any) -> None:
        watching.set()

    async def play() -> None:
        client = LateDefinition()
        policy = Policy(render=RenderSettings(operator_image="operator:1"), catalog=GpuCatalog.builtin())
        loop = Loop(cast("KubeClient", client), cast("Any", None), policy, Metrics())
        settings = Settings(operator_image="operator:1")
        listing = asyncio.create_task(loop.list_all())
        stop = asyncio.Event()
        watch = asyncio.create_task(run._watch(loop, cast("KubeClient", client), settings, stop, asyncio.Event()))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not watching.is_set()
        if stopped:
            stop.set()
        else:
            client.served = True
        await watch
        listing.cancel()
        await asyncio.gather(listing, return_exceptions=True)

    monkeypatch.setattr(kopf, "operator", operator)
    monkeypatch.setattr(loops, "_RELIST_RETRY_SECONDS", 0.01)
    asyncio.run(asyncio.wait_for(play(), 5))
    return watching.is_set()


def test_the_watches_begin_when_the_definition_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert story(monkeypatch, stopped=False)


def test_an_operator_without_a_definition_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not story(monkeypatch, stopped=True)
