"""The pure core: an InferenceService and what is observed of it in, what is to be done out.

Nothing here reads a cluster, a clock or the environment, and nothing depends on which event came or on the last call.
A spec that cannot be followed (invalid, infeasible, its model unreadable) leaves the running fleet as it is: its
children are neither changed nor pruned, and its lost serving pods are still replaced from standby.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from pydantic import ValidationError

from inference_fleet.api import names
from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec, Model
from inference_fleet.api.v1alpha1.status import InferenceServiceStatus, ModelStatus
from inference_fleet.planning.checks import spec_problems
from inference_fleet.planning.planner import merged_engine
from inference_fleet.reconciler import fleet
from inference_fleet.reconciler.cache import Observed
from inference_fleet.reconciler.fleet import PoolState
from inference_fleet.reconciler.observed import ChildView, ServiceView
from inference_fleet.reconciler.outcome import Failures, ModelRead, ModelUnreadable, Outcome, Policy, StoredModel
from inference_fleet.reconciler.status import (
    conditions,
    planned_verdict,
    pool_status,
    read_status,
    totals,
)
from inference_fleet.reconciler.verdict import Verdict, pool_verdict
from inference_fleet.resources.build import build_all
from inference_fleet.resources.inputs import Fleet, Manifest, ModelSource, Owner, PoolTarget
from inference_fleet.resources.service import CLIENT_PORT


def reconcile(
    service: ServiceView,
    observed: Observed,
    answer: Callable[[Model, str | None], ModelRead],
    failures: Failures,
    policy: Policy,
    now: datetime,
) -> Outcome:
    """Decide what to do about one service. `answer` tells what the store last said of a model of a known digest."""
    status = read_status(service.status)
    observed = observed.owned_by(service.uid)
    spec, refusal = read_spec(service, policy)
    if spec is None:
        return _held(service, observed, status, refusal, now)
    known = fleet.known_model(spec, status)
    model = answer(spec.model, known.digest if known else None)
    stored = StoredModel(None, None, None) if spec.model.uri.startswith("pvc://") else None
    if isinstance(model, StoredModel):
        stored = model
    plans = fleet.pool_plans(spec, status, stored, policy)
    pools = fleet.pool_states(service.key.name, spec, status, plans, observed)
    targets = tuple(
        _target(service, spec, pool, failures, policy) for pool in pools if pool.plan and pool.plan.feasible
    )
    desired = _manifests(service, spec, status, stored, targets, policy)
    model_verdict = _model_verdict(spec, status, stored, model)
    unplanned = any(pool.plan is None for pool in pools)
    ready = _ready_verdict(pools, model_verdict if unplanned else None, failures)
    new_status = _status(service, spec, status, stored, pools, ready, model_verdict, now)
    return Outcome(
        status=new_status,
        roles=tuple(change for pool in pools for change in pool.roles),
        desired=desired,
        prune=_prune(observed, pools, desired),
        wants_model=spec.model if _wants_model(pools, stored, model) else None,
    )


def _wants_model(pools: Sequence[PoolState], stored: StoredModel | None, read: ModelRead) -> bool:
    """Whether the store is to be asked: facts are missing, or no plan works with them and they may be mended."""
    if any(pool.plan is None for pool in pools):
        return stored is None
    return isinstance(read, StoredModel) and any(pool.plan and not pool.plan.feasible for pool in pools)


def read_spec(service: ServiceView, policy: Policy) -> tuple[InferenceServiceSpec | None, str]:
    """The spec, or a sentence about why it cannot be followed: the stored object may be older than the schema."""
    try:
        spec = InferenceServiceSpec.model_validate(service.spec)
    except ValidationError as error:
        problems = (
            f"spec.{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
            for problem in error.errors(include_url=False)
        )
        return None, "; ".join(problems)
    image = policy.render.default_engine_image
    found = [p for p in spec_problems(spec, service.key.name, default_image=image) if not p.warning]
    if found:
        return None, "; ".join(problem.message for problem in found)
    return spec, ""


def _held(
    service: ServiceView, observed: Observed, status: InferenceServiceStatus, refusal: str, now: datetime
) -> Outcome:
    """Keep the fleet of the last good spec alive, and say what is wrong with this one."""
    name = service.key.name
    pools = tuple(
        fleet.held_pool(name, p.name, p.gpu, None, p.desired_serving, p.desired - p.desired_serving, p.lock, observed)
        for p in status.pools
    )
    ready = Verdict("False", Reason.INVALID_SPEC, refusal)
    before = {pool.name: pool for pool in status.pools}
    pool_statuses = tuple(pool_status(pool, before[pool.name]) for pool in pools)
    new_status = status.model_copy(
        update={
            "observed_generation": service.generation,
            "pools": pool_statuses,
            "totals": totals(pool_statuses),
            "conditions": conditions(
                ready,
                ready,
                Verdict("Unknown", Reason.INVALID_SPEC, "the spec cannot be followed"),
                pools,
                status.conditions,
                service.generation,
                now,
            ),
        }
    )
    return Outcome(status=new_status, roles=tuple(change for pool in pools for change in pool.roles))


def _target(
    service: ServiceView, spec: InferenceServiceSpec, pool: PoolState, failures: Failures, policy: Policy
) -> PoolTarget:
    plan = pool.plan
    if plan is None or plan.engine is None or plan.lock is None:
        raise ValueError(f"pool {pool.name} has no plan")
    spec_pool = next(p for p in spec.pools if p.name == pool.name)
    template = pool.deployment.template if pool.deployment else None
    return PoolTarget(
        pool=spec_pool,
        engine=plan.engine,
        resources=merged_engine(spec, spec_pool).resources,
        lock=plan.lock,
        name=fleet.child_name(service.key.name, pool, failures.taken_names),
        serving=pool.serving,
        warm=pool.warm,
        gpu_type=policy.catalog.find(pool.gpu),
        standby_pods=fleet.standby_hash(pool),
        pull_image=template.pull_image if template and template.lock == plan.lock else None,
    )


def _manifests(
    service: ServiceView,
    spec: InferenceServiceSpec,
    status: InferenceServiceStatus,
    stored: StoredModel | None,
    targets: Sequence[PoolTarget],
    policy: Policy,
) -> tuple[Manifest, ...]:
    if not targets:
        return ()
    pinned = fleet.pinned_model(spec, status)
    source = ModelSource(
        digest=fleet.pinned_digest(spec, status, stored),
        bytes=pinned.bytes if pinned and pinned.bytes else stored.bytes if stored else None,
    )
    owner = Owner(service.key.name, service.key.namespace, service.uid)
    return build_all(Fleet(owner=owner, spec=spec, model=source, pools=tuple(targets), settings=policy.render))


def _prune(observed: Observed, pools: Sequence[PoolState], desired: Sequence[Manifest]) -> tuple[ChildView, ...]:
    """Our own children that nothing asks for any more; none while a pool has no plan: it may be an old one renamed."""
    if any(pool.plan is None or not pool.plan.feasible for pool in pools):
        return ()
    wanted = {(manifest["kind"], manifest["metadata"]["name"]) for manifest in desired}
    return tuple(child for child in observed.children if (child.kind, child.name) not in wanted)


def _model_verdict(
    spec: InferenceServiceSpec, status: InferenceServiceStatus, stored: StoredModel | None, read: ModelRead
) -> Verdict:
    digest = fleet.pinned_digest(spec, status, stored)
    if digest is not None:
        return Verdict("True", Reason.RESOLVED, f"{spec.model.uri} is {digest}")
    if isinstance(read, ModelUnreadable):
        return Verdict("False", read.reason, read.message)
    if stored is not None:
        return Verdict("True", Reason.MODEL_NOT_CHECKED, f"{spec.model.uri} is not read by the operator")
    return Verdict("Unknown", Reason.RESOLVING, f"{spec.model.uri} is being read")


def _ready_verdict(pools: Sequence[PoolState], model: Verdict | None, failures: Failures) -> Verdict:
    if failures.message is not None:
        return Verdict("False", failures.reason, failures.message)
    if model is not None and model.status == "False":
        return model
    verdicts = [pool_verdict(pool) for pool in pools]
    worst = Verdict.worst(verdicts)
    if worst is None or worst.status == "True":
        return Verdict("True", Reason.READY, "; ".join(verdict.message for verdict in verdicts))
    return worst


def _status(
    service: ServiceView,
    spec: InferenceServiceSpec,
    before: InferenceServiceStatus,
    stored: StoredModel | None,
    pools: Sequence[PoolState],
    ready: Verdict,
    model: Verdict,
    now: datetime,
) -> InferenceServiceStatus:
    known = {pool.name: pool for pool in before.pools}
    pool_statuses = tuple(pool_status(pool, known.get(pool.name)) for pool in pools)
    model_status = fleet.known_model(spec, before)
    if fleet.pinned_model(spec, before) is None and stored is not None and stored.digest is not None:
        weights = stored.facts.weights_bytes if stored.facts else None
        model_status = ModelStatus(
            source=fleet.model_source(spec.model), digest=stored.digest, bytes=stored.bytes, weights_bytes=weights
        )
    return InferenceServiceStatus(
        observed_generation=service.generation,
        conditions=conditions(
            ready, planned_verdict(pools, before), model, pools, before.conditions, service.generation, now
        ),
        model=model_status,
        pools=pool_statuses,
        totals=totals(pool_statuses),
        url=f"http://{names.client_service(service.key.name)}.{service.key.namespace}.svc:{CLIENT_PORT}/v1",
    )
