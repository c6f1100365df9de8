"""The status of a service, computed whole from what is true now: never patched step by step. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from inference_fleet.api import names
from inference_fleet.api.conditions import ConditionType, Reason
from inference_fleet.api.v1alpha1.status import (
    Condition,
    EngineStatus,
    InferenceServiceStatus,
    PoolStatus,
    Totals,
)
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.reconciler.fleet import PoolState
from inference_fleet.reconciler.verdict import Verdict, pool_counts, warm_verdict

_MAX_MESSAGE = 1024


def read_status(raw: Any) -> InferenceServiceStatus:
    """The stored status; an empty one where it does not parse: it is written whole anyway.

    Fields of a newer release are passed over: after a rollback of the operator the locks in it still hold.
    """
    try:
        return InferenceServiceStatus.model_validate(raw or {}, extra="ignore")
    except ValidationError:
        return InferenceServiceStatus()


def pool_status(pool: PoolState, before: PoolStatus | None) -> PoolStatus:
    """One pool as it is. A pool that cannot be planned now keeps the lock that it runs with."""
    counts = pool_counts(pool)
    status = PoolStatus(
        name=pool.name,
        gpu=pool.gpu,
        desired_serving=pool.serving,
        desired=pool.serving + pool.warm,
        ready=counts.ready,
        serving=counts.serving,
        warm=counts.warm,
        loading=counts.loading,
        draining=counts.draining,
        failed=counts.failed,
    )
    if pool.plan is not None and pool.plan.feasible:
        return status.model_copy(update=_locked(pool.plan))
    if before is not None and pool.deployment is not None:
        kept = ("engine", "kv_cache_tokens", "max_concurrency", "lock", "lock_inputs")
        return status.model_copy(update={name: getattr(before, name) for name in kept})
    return status


def _locked(plan: PoolPlan) -> dict[str, Any]:
    engine = plan.engine
    if engine is None:
        return {}
    return {
        "engine": EngineStatus(
            image=engine.image,
            tensor_parallel_size=engine.tensor_parallel_size,
            max_model_len=engine.max_model_len,
            max_num_seqs=engine.max_num_seqs,
            gpu_memory_utilization=engine.gpu_memory_utilization,
            enable_prefix_caching=engine.enable_prefix_caching,
            kv_cache_dtype=engine.kv_cache_dtype,
        ),
        "kv_cache_tokens": plan.kv_cache_tokens,
        "max_concurrency": plan.max_concurrency,
        "lock": plan.lock,
        "lock_inputs": plan.lock_inputs,
    }


def totals(pools: Sequence[PoolStatus]) -> Totals:
    """The columns of `kubectl get`."""
    locks = ",".join(pool.lock or "" for pool in pools)
    wanted = sum(pool.desired_serving for pool in pools)
    warm_wanted = sum(pool.desired - pool.desired_serving for pool in pools)
    return Totals(
        serving=f"{sum(pool.serving for pool in pools)}/{wanted}",
        warm=f"{sum(pool.warm for pool in pools)}/{warm_wanted}",
        loading=sum(pool.loading for pool in pools),
        gpus=sum(pool.desired * _gpus(pool) for pool in pools),
        lock=names.stable_hash(locks) if locks.strip(",") else None,
    )


def _gpus(pool: PoolStatus) -> int:
    return (pool.engine and pool.engine.tensor_parallel_size) or 0


def planned_verdict(pools: Sequence[PoolState], before: InferenceServiceStatus) -> Verdict:
    """Whether every pool has a plan that can work, with the planner's warnings.

    A plan taken from the status brings no warnings along: those told when it was made stand as long as it does.
    """
    told_before = next(
        (
            c
            for c in before.conditions
            if (c.type, c.status) == (ConditionType.PLANNED, "True") and c.reason in set(Reason)
        ),
        None,
    )
    locked = {(pool.name, pool.lock_inputs) for pool in before.pools if pool.lock is not None}
    if told_before and all(pool.plan and (pool.name, pool.plan.lock_inputs) in locked for pool in pools):
        return Verdict("True", Reason(told_before.reason), told_before.message)
    problems = [(pool, p) for pool in pools if pool.plan for p in pool.plan.problems]
    fatal = [(pool, p) for pool, p in problems if not p.warning]
    told = "; ".join(f"pool {pool.name}: {p.message}" for pool, p in (fatal or problems))
    if fatal:
        return Verdict("False", fatal[0][1].reason, told)
    if any(pool.plan is None for pool in pools):
        return Verdict("Unknown", Reason.RESOLVING, "the model store is being read")
    if problems:
        return Verdict("True", problems[0][1].reason, told)
    return Verdict("True", Reason.PLANNED, "every pool has a locked plan")


def conditions(
    ready: Verdict,
    planned: Verdict,
    model: Verdict,
    pools: Sequence[PoolState],
    before: Sequence[Condition],
    generation: int,
    now: datetime,
) -> tuple[Condition, ...]:
    """Every condition, the time of its last transition kept where its status is the same."""
    busy = ready.status == "Unknown"
    stalled = ready.status == "False"
    verdicts = {
        ConditionType.READY: ready,
        ConditionType.PLANNED: planned,
        ConditionType.MODEL_RESOLVED: model,
        ConditionType.WARM_POOL_FULL: warm_verdict(pools),
        ConditionType.SCALING_ACTIVE: Verdict(
            "False", Reason.FIXED_AT_MINIMUM, "every pool is held at replicas.min: this release has no scaler"
        ),
        ConditionType.RECONCILING: Verdict(
            "True" if busy else "False", ready.reason if busy else Reason.SETTLED, ready.message if busy else ""
        ),
        ConditionType.STALLED: Verdict(
            "True" if stalled else "False",
            ready.reason if stalled else Reason.SETTLED,
            ready.message if stalled else "",
        ),
    }
    known = {condition.type: condition for condition in before}
    return tuple(_condition(kind, verdict, known.get(kind), generation, now) for kind, verdict in verdicts.items())


def _condition(
    kind: ConditionType, verdict: Verdict, before: Condition | None, generation: int, now: datetime
) -> Condition:
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    if before is not None and before.status == verdict.status:
        stamp = before.last_transition_time
    return Condition(
        type=kind,
        status=verdict.status,
        reason=verdict.reason,
        message=verdict.message[:_MAX_MESSAGE],
        observed_generation=generation,
        last_transition_time=stamp,
    )
