"""A service and its pools as they should be: plans, names, counts and roles put together. Pure."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from inference_fleet.api import labels, names
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec, Model, Pool, WarmPool
from inference_fleet.api.v1alpha1.status import InferenceServiceStatus, ModelStatus, PoolStatus
from inference_fleet.planning.lock import frozen_plan, lock_inputs
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.planning.planner import merged_engine, plan_service
from inference_fleet.reconciler.cache import Observed
from inference_fleet.reconciler.observed import ChildView, PodState
from inference_fleet.reconciler.outcome import Policy, StoredModel
from inference_fleet.warmpool.pods import RoleChange
from inference_fleet.warmpool.roles import assign_roles
from inference_fleet.warmpool.target import warm_target


@dataclass(frozen=True, slots=True)
class PoolState:
    """One pool: what is wanted of it, and what it is now."""

    name: str
    gpu: str
    plan: PoolPlan | None
    """None while the model is being read, or for a pool that is no longer in the spec."""
    serving: int
    warm: int
    deployment: ChildView | None
    pods: tuple[PodState, ...]
    roles: tuple[RoleChange, ...]


def model_source(model: Model) -> str:
    """Hash of where a model's bytes come from: while it is the same, the digest in status is kept."""
    source = model.model_dump(mode="json", by_alias=True, exclude_none=True, include={"uri", "store"})
    return hashlib.sha256(json.dumps(source, sort_keys=True).encode()).hexdigest()[:16]


def known_model(spec: InferenceServiceSpec, status: InferenceServiceStatus) -> ModelStatus | None:
    """The model in status, if it is of the source that the spec names."""
    return status.model if status.model and status.model.source == model_source(spec.model) else None


def pinned_model(spec: InferenceServiceSpec, status: InferenceServiceStatus) -> ModelStatus | None:
    """The known model, once a pool is locked to it: until then newer bytes in the store take its place."""
    return known_model(spec, status) if any(pool.lock for pool in status.pools) else None


def pinned_digest(spec: InferenceServiceSpec, status: InferenceServiceStatus, stored: StoredModel | None) -> str | None:
    """The digest that pods of this revision pull: the one in status, until the spec names another source."""
    pinned = pinned_model(spec, status)
    if pinned is not None and pinned.digest:
        return pinned.digest
    return stored.digest if stored else None


def pool_plans(
    spec: InferenceServiceSpec,
    status: InferenceServiceStatus,
    stored: StoredModel | None,
    policy: Policy,
) -> dict[str, PoolPlan | None]:
    """The plan of each pool: the lock in status while its inputs hold, else a new one; None where facts are missing."""
    digest = pinned_digest(spec, status, stored)
    before = {pool.name: pool for pool in status.pools}
    plans = {pool.name: _frozen(spec, pool, before.get(pool.name), digest, policy) for pool in spec.pools}
    if all(plan is not None for plan in plans.values()) or stored is None:
        return plans
    made = plan_service(
        spec,
        stored.facts,
        policy.catalog,
        default_image=policy.render.default_engine_image,
        model_digest=digest,
    )
    return {plan.name: plans[plan.name] or plan for plan in made}


def _frozen(
    spec: InferenceServiceSpec, pool: Pool, before: PoolStatus | None, digest: str | None, policy: Policy
) -> PoolPlan | None:
    if before is None:
        return None
    engine = merged_engine(spec, pool)
    image = engine.image or policy.render.default_engine_image
    if engine.image is None and before.engine is not None and before.engine.image is not None:
        # The default image of a new operator release is for new services: a running fleet keeps its own.
        image = before.engine.image
    inputs = lock_inputs(spec, pool, engine, image, digest)
    return frozen_plan(before, engine.extra_args or (), inputs)


def pool_states(
    service_name: str,
    spec: InferenceServiceSpec,
    status: InferenceServiceStatus,
    plans: Mapping[str, PoolPlan | None],
    observed: Observed,
) -> tuple[PoolState, ...]:
    """Every pool of the spec. One that cannot be planned keeps the counts that it was last given."""
    before = {pool.name: pool for pool in status.pools}
    return tuple(
        _pool_state(service_name, spec, pool, plans[pool.name], before.get(pool.name), observed) for pool in spec.pools
    )


def _pool_state(
    service_name: str,
    spec: InferenceServiceSpec,
    pool: Pool,
    plan: PoolPlan | None,
    before: PoolStatus | None,
    observed: Observed,
) -> PoolState:
    serving = pool.replicas.min
    warm_pool = spec.warm_pool or WarmPool()
    warm = warm_target(serving, warm_pool.percent, warm_pool.min)
    lock = plan.lock if plan else None
    if plan is None or not plan.feasible:
        serving, warm = _last_counts(pool.name, before, observed)
        lock = before.lock if before else None
    return held_pool(service_name, pool.name, pool.gpu, plan, serving, warm, lock, observed)


def _last_counts(pool: str, before: PoolStatus | None, observed: Observed) -> tuple[int, int]:
    """Serving and warm replicas that a pool was last given; what the pods say where the status was wiped."""
    if before is not None:
        return before.desired_serving, before.desired - before.desired_serving
    living = [p.view for p in observed.pods if p.pool == pool and not p.view.deleting and not p.view.failed]
    warm = sum(pod.role == labels.ROLE_WARM for pod in living)
    return len(living) - warm, warm


def held_pool(
    service: str,
    name: str,
    gpu: str,
    plan: PoolPlan | None,
    serving: int,
    warm: int,
    lock: str | None,
    observed: Observed,
) -> PoolState:
    """A pool with its pods and the role changes that give it `serving` serving pods."""
    pods = tuple(pod for pod in observed.pods if pod.pool == name)
    roles = assign_roles([pod.view for pod in pods], serving, lock or "")
    return PoolState(
        name=name,
        gpu=gpu,
        plan=plan,
        serving=serving,
        warm=warm,
        deployment=_deployment(service, name, observed),
        pods=pods,
        roles=roles,
    )


def _deployment(service: str, pool: str, observed: Observed) -> ChildView | None:
    """The pool's Deployment. A copy that somebody made of it, owner reference and all, comes after it."""
    usual = (names.pool_child(service, pool), names.pool_child_fallback(service, pool))
    found = [child for child in observed.children if child.kind == "Deployment" and child.pool == pool]
    return min(found, key=lambda child: (child.name not in usual, child.name), default=None)


def roles_after(pool: PoolState) -> dict[str, str]:
    """The role of each pod by uid, once the changes are made."""
    changed = {change.uid: change.role for change in pool.roles}
    return {pod.view.uid: changed.get(pod.view.uid, pod.view.role) for pod in pool.pods}


def standby_hash(pool: PoolState) -> str:
    """A hash over the standby pods: it changes with every role change, and not when pods come or load."""
    roles = roles_after(pool)
    standby = sorted(uid for uid, role in roles.items() if role == labels.ROLE_WARM)
    return names.stable_hash(",".join(standby)) if standby else ""


def child_name(service: str, pool: PoolState, taken: frozenset[str]) -> str:
    """The pool's name for its Deployment and budget: what it has, else the plain one, else the hashed one."""
    if pool.deployment is not None:
        return pool.deployment.name
    plain = names.pool_child(service, pool.name)
    return names.pool_child_fallback(service, pool.name) if plain in taken else plain
