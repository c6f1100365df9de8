"""The loop against an API server that moves on while it is being written to."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from inference_fleet.api import labels
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.clients.kube import ApiError, Kind, Written
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler.loop import Loop
from inference_fleet.reconciler.modelreader import ModelReader
from inference_fleet.reconciler.outcome import Policy
from inference_fleet.resources.inputs import RenderSettings
from tests.unit.reconciler import objects

Json = objects.Json
DEADLINE_SECONDS = 5.0
POLICY = Policy(render=RenderSettings(operator_image="operator:1"), catalog=GpuCatalog.builtin())


class Server:
    """Stores what is written and answers with the newest state, as the API server does. It sends no watch events."""

    def __init__(self, service: Json, *pods: Json) -> None:
        self.service = service
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.replicas = 0
        self.before_status: Callable[[], None] = lambda: None
        self.before_role: Callable[[str], None] = lambda _: None

    async def get(self, kind: Kind, _namespace: str, name: str) -> Json:
        raise ApiError(404, "NotFound", f"{kind.name} {name} not found")

    async def apply(self, _: Kind, manifest: Json, *, force: bool) -> Written:
        if manifest["kind"] == "Deployment":
            self.replicas = manifest["spec"]["replicas"]
        return Written(objects.live(manifest), created=not force)

    async def apply_status(self, _namespace: str, _name: str, _uid: str, status: Json) -> Json:
        hook, self.before_status = self.before_status, lambda: None
        hook()
        version = objects.service()["metadata"]["resourceVersion"]
        metadata = {**self.service["metadata"], "resourceVersion": version}
        self.service = {**self.service, "metadata": metadata, "status": status}
        return self.service

    async def merge(self, _: Kind, _namespace: str, name: str, patch: Json) -> Json:
        self.before_role(name)
        pod = self.pods[name]
        role = {**pod["metadata"]["labels"], **patch["metadata"]["labels"]}
        version = objects.pod(name)["metadata"]["resourceVersion"]
        self.pods[name] = {**pod, "metadata": {**pod["metadata"], "labels": role, "resourceVersion": version}}
        return self.pods[name]

    async def create(self, *_: Any) -> None:
        """An Event."""


def run(server: Server, until: Callable[[], bool]) -> None:
    """Let the loop work on what is on the server until the condition holds."""

    async def work() -> None:
        loop = Loop(
            server,  # type: ignore[arg-type]
            ModelReader(lambda *_: asyncio.sleep(0)),  # type: ignore[arg-type]
            POLICY,
            Metrics(),
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        )
        loop.listed = True
        loop.see("InferenceService", None, server.service)
        for pod in server.pods.values():
            loop.see("Pod", None, pod)
        worker = asyncio.create_task(loop.work())
        deadline = asyncio.get_running_loop().time() + DEADLINE_SECONDS
        while not until() and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110 - any condition
            await asyncio.sleep(0.01)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)

    asyncio.run(work())


def test_a_spec_that_changes_while_status_is_written_is_followed() -> None:
    server = Server(objects.service(generation=1))

    def scale() -> None:
        pools = [{**server.service["spec"]["pools"][0], "replicas": {"min": 4, "max": 8}}]
        server.service = objects.service(generation=2, pools=pools)

    server.before_status = scale
    run(server, lambda: server.service.get("status", {}).get("observedGeneration") == 2)
    assert server.replicas == 5
    assert server.service["status"]["observedGeneration"] == 2


def test_a_standby_that_dies_while_it_is_promoted_is_replaced_by_another() -> None:
    standby = [objects.pod(f"warm-{n}", role=labels.ROLE_WARM) for n in range(3)]
    server = Server(objects.service(), *standby)
    promoted: list[str] = []

    def die(name: str) -> None:
        promoted.append(name)
        if len(promoted) == 1:
            server.pods[name]["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z"

    server.before_role = die
    run(server, lambda: len(promoted) >= 3)
    serving = [
        name
        for name, pod in server.pods.items()
        if pod["metadata"]["labels"][labels.ROLE] == labels.ROLE_SERVING and "deletionTimestamp" not in pod["metadata"]
    ]
    assert len(serving) == 2
