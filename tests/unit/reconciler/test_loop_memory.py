"""What the loop remembers between passes goes with the service."""

import asyncio
from typing import Any, cast

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.clients.kube import ApiError, KubeClient
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler.loop import Loop
from inference_fleet.reconciler.modelreader import ModelReader
from inference_fleet.reconciler.outcome import Policy
from inference_fleet.resources.inputs import RenderSettings
from tests.unit.reconciler import objects


class Refusing:
    """An API server that admits no child."""

    async def get(self, *_: Any) -> objects.Json:
        raise ApiError(404, "NotFound", "not found")

    async def apply(self, *_: Any, **__: Any) -> objects.Json:
        raise ApiError(403, "Forbidden", "denied by policy")

    async def apply_status(self, *_: Any) -> objects.Json:
        raise ApiError(404, "NotFound", "not found")


async def until_idle(loop: Loop) -> None:
    now = asyncio.get_running_loop().time
    while any(due <= now() for due in loop.queue._due.values()) or loop.queue._working:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


def test_what_failed_for_a_service_is_forgotten_with_it_and_does_not_follow_its_name() -> None:
    async def story() -> None:
        reader = ModelReader(cast("Any", None))
        policy = Policy(render=RenderSettings(operator_image="operator:1"), catalog=GpuCatalog.builtin())
        loop = Loop(cast("KubeClient", Refusing()), reader, policy, Metrics())
        loop.listed = True
        worker = asyncio.create_task(loop.work())
        for number in range(3):
            body = objects.service(f"chat-{number}")
            loop.see("InferenceService", "ADDED", body)
            await until_idle(loop)
            assert len(loop._failures) == 1
            loop.see("InferenceService", "DELETED", body)
            await until_idle(loop)
        assert not loop._failures
        assert not loop.queue._failures
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 5))


class Hanging(Refusing):
    """An API server that does not answer for a while."""

    answers = False
    asked = 0

    async def get(self, *_: Any) -> objects.Json:
        if not self.answers:
            await asyncio.Event().wait()
        self.asked += 1
        return await super().get()


def test_a_service_whose_worker_is_cancelled_is_taken_up_by_the_next_one() -> None:
    async def story() -> None:
        server = Hanging()
        policy = Policy(render=RenderSettings(operator_image="operator:1"), catalog=GpuCatalog.builtin())
        loop = Loop(cast("KubeClient", server), ModelReader(cast("Any", None)), policy, Metrics())
        loop.listed = True
        loop.see("InferenceService", "ADDED", objects.service())
        for answers in (False, True):  # the Lease is lost, and held again
            server.answers = answers
            worker = asyncio.create_task(loop.work())
            for _ in range(50):
                await asyncio.sleep(0)
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        assert server.asked > 0

    asyncio.run(asyncio.wait_for(story(), 5))
