"""`inference-fleet run`: settings, logs, the loop and kopf's watches, wired together."""

import asyncio
import gc
import logging
import os
import socket
import sys
import uuid
from urllib.parse import urlsplit

import click
import kopf

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.cli import BadInput
from inference_fleet.cli.input import load_catalog
from inference_fleet.cli.leading import LEASE_NAME, Leading
from inference_fleet.clients.kube import KubeClient
from inference_fleet.clients.lease import Lease
from inference_fleet.handlers.watch import NoMemories, watch_registry, watch_settings
from inference_fleet.observability import health
from inference_fleet.observability import logging as logs
from inference_fleet.observability.metrics import Metrics
from inference_fleet.reconciler.loop import Loop
from inference_fleet.reconciler.modelreader import ModelReader
from inference_fleet.reconciler.modelstore import ModelStore
from inference_fleet.reconciler.outcome import Policy
from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.settings import Settings, SettingsError

logger = logging.getLogger(__name__)

_GC_THRESHOLD = 50_000
"""Objects between two collections. JSON has no cycles, and by default a list of the cluster starts one every 700."""


@click.command()
def command() -> None:
    """Run the operator. Its settings are INFERENCE_FLEET_* variables, which the chart sets."""
    try:
        settings = Settings.from_environ(os.environ)
    except SettingsError as error:
        raise BadInput(str(error)) from None
    catalog = load_catalog(settings.gpu_catalog)
    logs.set_up(settings.log_level, settings.log_format)
    gc.set_threshold(_GC_THRESHOLD, 20, 20)
    sys.exit(asyncio.run(_run(settings, catalog)))


async def _run(settings: Settings, catalog: GpuCatalog) -> int:
    policy = Policy(
        render=RenderSettings(
            operator_image=settings.operator_image,
            default_engine_image=settings.default_engine_image,
            cache_host_path=str(settings.cache_host_path),
            cache_claim_size=settings.cache_claim_size,
            image_pull_secrets=settings.image_pull_secrets,
        ),
        catalog=catalog,
    )
    metrics = Metrics()
    async with await KubeClient.from_environment() as client:
        store = ModelStore(
            client,
            secret_namespaces=settings.secret_namespaces,
            allowed_networks=settings.allowed_store_networks,
            api_server=[urlsplit(client.server).hostname or ""],
        )
        models = ModelReader(store.read)
        loop = Loop(client, models, policy, metrics, namespaces=settings.watch_namespaces)
        lease = _lease(client, settings)
        leading = Leading(loop, lease, settings)
        ports = {settings.health_port, settings.metrics_port}
        server = await health.serve(ports, leading.wrong, leading.not_ready, metrics)
        try:
            await leading.run(lambda stop, started: _watch(loop, client, settings, stop, started))
        finally:
            await models.close()
            await server.cleanup()
    logger.info("stopped")
    return 0


def _lease(client: KubeClient, settings: Settings) -> Lease | None:
    if settings.lease_namespace is None:
        return None
    # A container that starts again in the same pod is another writer, so the pod's name is not enough.
    identity = f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}"
    return Lease(client, settings.lease_namespace, LEASE_NAME, identity)


async def _watch(
    loop: Loop, client: KubeClient, settings: Settings, stop: asyncio.Event, started: asyncio.Event
) -> None:
    """Watch until told to stop. Events that come before the list is complete only fill the cache.

    Kopf looks for the kinds once, when it starts; installed after that, our own would never be watched.
    """
    await _first(loop.served, stop)
    if stop.is_set():
        return
    await kopf.operator(
        registry=watch_registry(loop, client),
        settings=watch_settings(),
        memories=NoMemories(),
        standalone=True,
        clusterwide=not settings.watch_namespaces,
        namespaces=settings.watch_namespaces,
        stop_flag=stop,
        ready_flag=started,
    )


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.create_task(event.wait()) for event in events]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
