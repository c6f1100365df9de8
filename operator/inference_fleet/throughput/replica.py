"""From a model, a GPU type and a tensor parallel size to a replica, planned as the operator plans it."""

from dataclasses import dataclass

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GpuCatalog, GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.planning.planner import plan_service
from inference_fleet.throughput.coefficients import Speed, coefficients_of
from inference_fleet.throughput.estimate import Replica
from inference_fleet.throughput.roofline import Engine
from inference_fleet.throughput.work import model_work

_EXPERT_PARALLEL = ("--enable-expert-parallel",)
_ELEMENTS = {"fp8": 1.0, "int8": 1.0, "nvfp4": 0.5625, "int4": 0.5}


@dataclass(frozen=True, slots=True)
class Hardware:
    """A GPU type, and what it can do at best."""

    gpu: GpuType
    speed: Speed


@dataclass(frozen=True, slots=True)
class Sizing:
    """A plan and its replica, None where the plan is not feasible: `refusals` say why."""

    plan: PoolPlan
    replica: Replica | None
    expert_parallel: bool = False
    """Whether the plan holds only with --enable-expert-parallel in extraArgs."""

    @property
    def refusals(self) -> tuple[str, ...]:
        """The sentences of what stops the plan."""
        return tuple(problem.message for problem in self.plan.problems if not problem.warning)


@dataclass(frozen=True, slots=True)
class Planned:
    """What all replicas of a sizing are planned with."""

    facts: ModelFacts
    catalog: GpuCatalog
    image: str
    longest: int
    """Tokens of the longest request, prompt and answer: maxModelLen."""
    typical: int
    """Tokens of a typical one, of which the KV cache holds so many."""
    kv_cache_dtype: str = "auto"


def size_replica(planned: Planned, hardware: Hardware, tp: int) -> Sizing:
    """Plan one pool; all that is not said is left to the plan.

    Where blocks of a quantised expert do not split into `tp`, whole experts on each rank do: planned so, and said.
    """
    plan = _plan(planned, hardware, tp, planned.longest, ())
    arguments: tuple[str, ...] = ()
    if not plan.feasible and planned.facts.experts:
        whole = _plan(planned, hardware, tp, planned.longest, _EXPERT_PARALLEL)
        plan, arguments = (whole, _EXPERT_PARALLEL) if whole.feasible else (plan, ())
    if not plan.feasible or plan.engine is None:
        return Sizing(plan, None)
    typical = plan
    if planned.typical < planned.longest:
        typical = _plan(planned, hardware, tp, planned.typical, arguments)
    at_once = typical.max_concurrency
    engine = Engine(
        work=model_work(planned.facts),
        speed=hardware.speed,
        coefficients=coefficients_of(hardware.speed.family),
        tp=tp,
        kv_element=_element(planned, plan.engine.kv_cache_dtype),
        batched_tokens=hardware.gpu.batch_defaults.max_num_batched_tokens,
    )
    sequences = plan.engine.max_num_seqs or hardware.gpu.batch_defaults.max_num_seqs
    replica = Replica(engine, None if at_once is None else at_once * planned.typical, sequences)
    return Sizing(plan, replica, bool(arguments))


def _plan(planned: Planned, hardware: Hardware, tp: int, length: int, arguments: tuple[str, ...]) -> PoolPlan:
    pool = {"name": "pool", "gpu": hardware.gpu.product, "tensorParallelSize": tp, "replicas": {"min": 1, "max": 1}}
    engine = {"maxModelLen": length, "kvCacheDtype": planned.kv_cache_dtype, "extraArgs": arguments}
    spec = InferenceServiceSpec.model_validate(
        {"model": {"name": "model", "uri": "pvc://model"}, "engine": engine, "pools": [pool]}
    )
    (plan,) = plan_service(spec, planned.facts, planned.catalog, default_image=planned.image)
    return plan


def _element(planned: Planned, kv_cache_dtype: str) -> float:
    """Bytes of a stored key or value: `auto` takes FP8 where the checkpoint brings its scales."""
    quantization = planned.facts.quantization
    if kv_cache_dtype == "auto":
        brings = quantization is not None and quantization.kv_fp8 and engine_version(planned.image).reads_kv_scales
        return 1.0 if brings else 2.0
    return next((size for name, size in _ELEMENTS.items() if kv_cache_dtype.startswith(name)), 2.0)
