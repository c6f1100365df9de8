"""`inference-fleet plan`: the memory bill and the lock of each pool, without a cluster or a network.

Exit status 0: every pool is feasible; 1: at least one is not; 2: the input is bad. Imports are few, and rich comes in
for the table only: the command is used in pre-commit hooks and must answer at once.
"""

import copy
import json
import sys
from pathlib import Path
from typing import Any

import click

from inference_fleet.api.conditions import Reason
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.cli import BadInput
from inference_fleet.cli.input import LoadedService, load_catalog, load_model_facts, load_service
from inference_fleet.planning.checks import spec_problems
from inference_fleet.planning.plan import LockedEngine, PoolPlan
from inference_fleet.planning.planner import plan_service
from inference_fleet.resources.inputs import RenderSettings

INFEASIBLE = 1
_SERVER_SIDE = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


@click.command()
@click.option(
    "-f", "--filename", "file", required=True, type=click.Path(path_type=Path), help="InferenceService, YAML or JSON."
)
@click.option(
    "--model-config",
    type=click.Path(path_type=Path),
    help="The model's folder, or its config.json alone; without it memory is not checked.",
)
@click.option(
    "--gpu-catalog", type=click.Path(path_type=Path), help="Further GPU types, in the shape of the built-in file."
)
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", help="How to print.")
@click.pass_context
def command(ctx: click.Context, file: Path, model_config: Path | None, gpu_catalog: Path | None, output: str) -> None:
    """Print the memory bill and the locked engine parameters of each pool.

    yaml prints the InferenceService with every locked value written out.
    """
    service = load_service(file)
    catalog = load_catalog(gpu_catalog)
    facts = load_model_facts(model_config)
    image = RenderSettings(operator_image="").default_engine_image
    _refuse_bad_spec(file, service, image)
    plans = plan_service(service.spec, facts, catalog, default_image=image)
    feasible = all(plan.feasible for plan in plans)
    if output == "json":
        click.echo(json.dumps({"pools": [pool_json(plan) for plan in plans]}, indent=2))
    elif output == "yaml":
        _print_yaml(service, plans, feasible=feasible)
    else:
        _print_table(service, plans, facts, catalog)
    ctx.exit(0 if feasible else INFEASIBLE)


def _refuse_bad_spec(file: Path, service: LoadedService, image: str) -> None:
    """What no model and no GPU type could make right. Locked and removed flags stand with their pools."""
    problems = spec_problems(service.spec, service.name, default_image=image)
    bad = [problem.message for problem in problems if problem.reason is Reason.INVALID_SPEC and not problem.warning]
    if bad:
        raise BadInput("\n".join(f"{file}: {message}" for message in bad))


def pool_json(plan: PoolPlan) -> dict[str, Any]:
    """A pool by the command's contract: bytes per GPU, tokens and concurrency per replica."""
    memory = plan.memory
    return {
        "name": plan.name,
        "gpu": plan.gpu,
        "feasible": plan.feasible,
        "engine": None if plan.engine is None else _engine(plan.engine),
        "memory": None
        if memory is None
        else {
            "gpuBytes": memory.gpu_bytes,
            "weightsBytes": memory.weights_bytes,
            "activationBytes": memory.activation_bytes,
            "overheadBytes": memory.overhead_bytes,
            "kvCacheBytes": memory.kv_cache_bytes,
            "kvCacheBytesPerToken": memory.kv_cache_bytes_per_token,
        },
        "kvCacheTokens": plan.kv_cache_tokens,
        "maxConcurrency": plan.max_concurrency,
        "lock": plan.lock,
        "estimated": plan.estimated,
        "problems": [{"reason": str(problem.reason), "message": problem.message} for problem in plan.problems],
    }


def _engine(engine: LockedEngine) -> dict[str, Any]:
    return {
        "tensorParallelSize": engine.tensor_parallel_size,
        "maxModelLen": engine.max_model_len,
        "maxNumSeqs": engine.max_num_seqs,
        "gpuMemoryUtilization": engine.gpu_memory_utilization,
        "enablePrefixCaching": engine.enable_prefix_caching,
        "kvCacheDtype": engine.kv_cache_dtype,
    }


def locked_object(service: LoadedService, plans: tuple[PoolPlan, ...]) -> dict[str, Any]:
    """The InferenceService with every locked value in its pool, without what only an API server adds."""
    raw = copy.deepcopy(service.raw)
    raw.pop("status", None)
    for key in _SERVER_SIDE:
        raw["metadata"].pop(key, None)
    (raw["metadata"].get("annotations") or {}).pop(_LAST_APPLIED, None)
    for pool, plan in zip(raw["spec"]["pools"], plans, strict=True):
        if plan.engine is None:
            continue
        values = {name: value for name, value in _engine(plan.engine).items() if value is not None}
        pool["tensorParallelSize"] = values.pop("tensorParallelSize")
        pool["engine"] = {**(pool.get("engine") or {}), "image": plan.engine.image, **values}
    return raw


def _print_yaml(service: LoadedService, plans: tuple[PoolPlan, ...], *, feasible: bool) -> None:
    """The object on stdout only if it may be applied; findings on stderr."""
    import yaml

    for plan in plans:
        for problem in plan.problems:
            click.echo(f"inference-fleet: pool {plan.name}: {problem.reason}: {problem.message}", err=True)
    if feasible:
        yaml.safe_dump(locked_object(service, plans), sys.stdout, sort_keys=False, width=120, allow_unicode=True)


def _print_table(
    service: LoadedService, plans: tuple[PoolPlan, ...], facts: ModelFacts | None, catalog: GpuCatalog
) -> None:
    from inference_fleet.cli.bill import bill_lines
    from inference_fleet.cli.table import print_pool

    for plan in plans:
        print_pool(plan, bill_lines(service.spec, plan, facts, catalog))
