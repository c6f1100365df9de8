"""The planner: a spec, a model's facts and the catalogue in; one plan per pool out.

Given values are kept and checked; what was left out is planned: the smallest tensor parallel size that serves, the
model's own length or the longest that fits, as many sequences as the KV cache holds of the workload's requests.
"""

from dataclasses import replace

from inference_fleet.api.v1alpha1.spec import Engine, InferenceServiceSpec, Pool
from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GpuCatalog, GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.checks import PoolInput, pool_problems, split_of
from inference_fleet.planning.lock import lock_inputs, lock_of
from inference_fleet.planning.parallelism import legal_sizes
from inference_fleet.planning.plan import LockedEngine, PoolPlan
from inference_fleet.planning.request import Request, read_request
from inference_fleet.planning.sizing import Sizing, size, smallest
from inference_fleet.planning.verdicts import sizing_problems


def plan_service(
    spec: InferenceServiceSpec,
    facts: ModelFacts | None,
    catalog: GpuCatalog,
    *,
    default_image: str,
    model_digest: str | None = None,
) -> tuple[PoolPlan, ...]:
    """Plan every pool of a service. `facts` is None where the model could not be read: nothing is checked then."""
    return tuple(_plan_pool(spec, pool, facts, catalog, default_image, model_digest) for pool in spec.pools)


def merged_engine(spec: InferenceServiceSpec, pool: Pool) -> Engine:
    """The pool's engine parameters over those of the service, field by field. Lists are replaced, not joined."""
    merged = spec.engine or Engine()
    if pool.engine is None:
        return merged
    given = {name: getattr(pool.engine, name) for name in Engine.model_fields}
    resources = merged.resources
    if resources is not None and pool.engine.resources is not None:
        given["resources"] = resources.model_copy(update=pool.engine.resources.model_dump(exclude_none=True))
    return merged.model_copy(update={name: value for name, value in given.items() if value is not None})


def _plan_pool(
    spec: InferenceServiceSpec,
    pool: Pool,
    facts: ModelFacts | None,
    catalog: GpuCatalog,
    default_image: str,
    model_digest: str | None,
) -> PoolPlan:
    engine = merged_engine(spec, pool)
    image = engine.image or default_image
    request = read_request(engine, spec.workload, engine_version(image))
    given = PoolInput(pool, image, request, catalog.find(pool.gpu), facts, catalog)
    plan = PoolPlan(
        name=pool.name,
        gpu=pool.gpu,
        engine=None,
        lock_inputs=lock_inputs(spec, pool, engine, image, model_digest),
        problems=pool_problems(given),
    )
    if any(not problem.warning for problem in plan.problems) or given.gpu is None:
        return plan
    plan = _unchecked(plan, given) if facts is None else _sized(plan, given, given.gpu, facts)
    if not plan.feasible or plan.engine is None:
        return plan
    return replace(plan, lock=lock_of(plan.engine, model_digest))


def _unchecked(plan: PoolPlan, given: PoolInput) -> PoolPlan:
    """Given values as they are; the engine decides the rest."""
    request = given.request
    tp = given.pool.tensor_parallel_size or 1
    return replace(plan, engine=_locked(given, tp, request.max_model_len, request.max_num_seqs))


def _sized(plan: PoolPlan, given: PoolInput, gpu: GpuType, facts: ModelFacts) -> PoolPlan:
    sizing = _choose(given.pool, gpu, facts, given.request)
    problems = sizing_problems(given, gpu, facts, sizing)
    return replace(
        plan,
        engine=_locked(given, sizing.tensor_parallel_size, sizing.max_model_len or None, sizing.max_num_seqs),
        memory=sizing.bill,
        kv_cache_tokens=sizing.kv_cache_tokens,
        max_concurrency=sizing.max_concurrency,
        problems=(*plan.problems, *problems),
        estimated=facts.estimated,
    )


def _choose(pool: Pool, gpu: GpuType, facts: ModelFacts, request: Request) -> Sizing:
    """The given size, else the smallest legal one that serves, else the widest, which comes nearest to it."""
    if pool.tensor_parallel_size is not None:
        return size(facts, gpu, pool.tensor_parallel_size, request)
    sizes = legal_sizes(facts, gpu.gpus_per_node, split_of(request))
    return smallest(facts, gpu, sizes, request) or size(facts, gpu, sizes[-1], request)


def _locked(given: PoolInput, tp: int, max_model_len: int | None, max_num_seqs: int | None) -> LockedEngine:
    request = given.request
    return LockedEngine(
        image=given.image,
        tensor_parallel_size=tp,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        gpu_memory_utilization=request.utilization,
        enable_prefix_caching=request.enable_prefix_caching,
        kv_cache_dtype=request.kv_cache_dtype,
        extra_args=request.extra_args,
    )
