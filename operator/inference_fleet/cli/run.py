"""`inference-fleet run`: settings, logs, the loop and kopf's watches, wired together."""

import asyncio
import logging
import os
import sys
from urllib.parse import urlsplit

import click
import kopf

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.cli import BadInput
from inference_fleet.cli.input import load_catalog
from inference_fleet.clients.kube import KubeClient
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


@click.command()
def command() -> None:
    """Run the operator. Its settings are INFERENCE_FLEET_* variables, which the chart sets."""
    try:
        settings = Settings.from_environ(os.environ)
    except SettingsError as error:
        raise BadInput(str(error)) from None
    catalog = load_catalog(settings.gpu_catalog)
    logs.set_up(settings.log_level, settings.log_format)
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
        tasks = _start(loop, settings)
        ports = {settings.health_port, settings.metrics_port}
        server = await health.serve(ports, lambda: _ended(tasks), lambda: _not_ready(loop), metrics)
        try:
            await _watch(loop, client, settings)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await models.close()
            await server.cleanup()
    logger.info("stopped")
    return 0


def _start(loop: Loop, settings: Settings) -> list[asyncio.Task[None]]:
    """Start the loop's tasks before kopf: it cancels whatever is started after it."""

    async def list_then_resync() -> None:
        await loop.list_all()
        logger.info("the cluster is listed; reconciling")
        await loop.resync(settings.resync_seconds)

    workers = [asyncio.create_task(loop.work(), name=f"worker {n}") for n in range(settings.workers)]
    return [*workers, asyncio.create_task(list_then_resync(), name="resync")]


async def _watch(loop: Loop, client: KubeClient, settings: Settings) -> None:
    """Watch until SIGTERM or SIGINT. Events that come before the list is complete only fill the cache."""
    await kopf.operator(
        registry=watch_registry(loop, client),
        settings=watch_settings(),
        memories=NoMemories(),
        standalone=True,
        clusterwide=not settings.watch_namespaces,
        namespaces=settings.watch_namespaces,
    )


def _ended(tasks: list[asyncio.Task[None]]) -> str | None:
    ended = [task.get_name() for task in tasks if task.done()]
    return f"ended: {', '.join(ended)}" if ended else None


def _not_ready(loop: Loop) -> str | None:
    return None if loop.listed else "the cluster is not listed yet"
