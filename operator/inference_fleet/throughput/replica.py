"""From a model, a GPU type and a tensor parallel size to a replica, planned as the operator plans it."""

from dataclasses import dataclass
from typing import Any

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.gpus import GpuCatalog, GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.plan import LockedEngine, PoolPlan
from inference_fleet.planning.planner import plan_service
from inference_fleet.throughput.coefficients import Speed, coefficients_of
from inference_fleet.throughput.estimate import Replica
from inference_fleet.throughput.roofline import Engine
from inference_fleet.throughput.work import model_work


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

    @property
    def refusals(self) -> tuple[str, ...]:
        """The sentences of what stops the plan."""
        return tuple(problem.message for problem in self.plan.problems if not problem.warning)


def size_replica(
    facts: ModelFacts,
    hardware: Hardware,
    tp: int,
    *,
    length: int,
    image: str,
    catalog: GpuCatalog,
    kv_cache_dtype: str = "auto",
) -> Sizing:
    """Plan one pool whose requests have up to `length` tokens, prompt and answer; left to the plan is all else."""
    spec = InferenceServiceSpec.model_validate(
        {
            "model": {"name": "model", "uri": "pvc://model"},
            "engine": {"maxModelLen": length, "kvCacheDtype": kv_cache_dtype},
            "pools": [_pool(hardware.gpu.product, tp)],
        }
    )
    (plan,) = plan_service(spec, facts, catalog, default_image=image)
    if not plan.feasible or plan.engine is None:
        return Sizing(plan, None)
    engine = Engine(
        work=model_work(facts),
        speed=hardware.speed,
        coefficients=coefficients_of(hardware.speed.family),
        tp=tp,
        kv_element=1 if plan.engine.kv_cache_dtype.startswith("fp8") else 2,
        batched_tokens=hardware.gpu.batch_defaults.max_num_batched_tokens,
    )
    return Sizing(plan, Replica(engine, plan.kv_cache_tokens, _sequences(plan.engine, hardware.gpu)))


def _pool(product: str, tp: int) -> dict[str, Any]:
    return {"name": "pool", "gpu": product, "tensorParallelSize": tp, "replicas": {"min": 1, "max": 1}}


def _sequences(engine: LockedEngine, gpu: GpuType) -> int:
    return engine.max_num_seqs or gpu.batch_defaults.max_num_seqs
