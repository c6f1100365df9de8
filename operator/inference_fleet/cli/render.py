"""`inference-fleet render`: the objects that the operator would create, without a cluster."""

import json
from pathlib import Path

import click

from inference_fleet.api.names import pool_child
from inference_fleet.api.v1alpha1.spec import WarmPool
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.cli.input import LoadedService, load_catalog, load_model_facts, load_service
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.planning.planner import merged_engine, plan_service
from inference_fleet.resources.build import build_all
from inference_fleet.resources.inputs import Fleet, Manifest, ModelSource, Owner, PoolTarget, RenderSettings
from inference_fleet.resources.text import to_yaml
from inference_fleet.warmpool.target import warm_target

DEFAULT_IMAGE = "inference-fleet:latest"
EXIT_INFEASIBLE = 1


@click.command(name="render")
@click.option("-f", "--file", required=True, help="The InferenceService, YAML or JSON.")
@click.option("--model-config", help="The model's folder or its config.json; without it, sizes are not planned.")
@click.option("--gpu-catalog", help="Further GPU types, as the chart's values give them.")
@click.option("--image", default=DEFAULT_IMAGE, show_default=True, help="The operator's image; it pulls the model.")
@click.option("--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True)
def command(file: str, model_config: str | None, gpu_catalog: str | None, image: str, output: str) -> None:
    """Print every object the operator would create for the InferenceService in FILE.

    Each pool is shown with its fewest replicas and their standby. Left out is what only a cluster knows: owner
    references (they need the service's uid) with the hash over them, and the digest of a model in a store.
    Exits 1 and prints the problems where a pool has no legal plan, 2 on bad input.
    """
    service = load_service(Path(file))
    catalog = load_catalog(gpu_catalog)
    facts = load_model_facts(model_config)
    settings = RenderSettings(operator_image=image)
    plans = plan_service(service.spec, facts, catalog, default_image=settings.default_engine_image)
    _report_problems(plans)
    model_bytes = None if facts is None else facts.weights_bytes
    manifests = build_all(_fleet(service, plans, catalog, model_bytes, settings))
    click.echo(_shown(manifests, output), nl=False)


def _report_problems(plans: tuple[PoolPlan, ...]) -> None:
    for plan in plans:
        for problem in plan.problems:
            kind = "warning: " if problem.warning else ""
            click.echo(f"inference-fleet: {kind}pool {plan.name}: {problem.reason}: {problem.message}", err=True)
    if not all(plan.feasible for plan in plans):
        raise SystemExit(EXIT_INFEASIBLE)


def _fleet(
    service: LoadedService,
    plans: tuple[PoolPlan, ...],
    catalog: GpuCatalog,
    model_bytes: int | None,
    settings: RenderSettings,
) -> Fleet:
    return Fleet(
        owner=Owner(name=service.name, namespace=service.namespace, uid=None),
        spec=service.spec,
        model=ModelSource(digest=None, bytes=model_bytes),
        pools=tuple(_target(service, plan, catalog) for plan in plans),
        settings=settings,
    )


def _target(service: LoadedService, plan: PoolPlan, catalog: GpuCatalog) -> PoolTarget:
    if plan.engine is None or plan.lock is None:
        raise ValueError(f"pool {plan.name} has no plan")
    pool = next(pool for pool in service.spec.pools if pool.name == plan.name)
    warm_pool = service.spec.warm_pool or WarmPool()
    serving = pool.replicas.min
    return PoolTarget(
        pool=pool,
        engine=plan.engine,
        resources=merged_engine(service.spec, pool).resources,
        lock=plan.lock,
        name=pool_child(service.name, pool.name),
        serving=serving,
        warm=warm_target(serving, warm_pool.percent, warm_pool.min),
        gpu_type=catalog.find(pool.gpu),
    )


def _shown(manifests: tuple[Manifest, ...], output: str) -> str:
    if output == "json":
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(manifests)}, indent=2) + "\n"
    return to_yaml(manifests)
