"""Is a pool as its spec wants it, on its way, or broken? Pure.

`Unknown` while something is merely on its way (Argo CD shows Progressing), `False` only when somebody has to look.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from inference_fleet.api import labels
from inference_fleet.api.conditions import Reason
from inference_fleet.reconciler.fleet import PoolState, roles_after
from inference_fleet.reconciler.observed import PodState

Status = Literal["True", "False", "Unknown"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Status, reason and message of a condition."""

    status: Status
    reason: Reason
    message: str

    @classmethod
    def worst(cls, verdicts: Iterable["Verdict"]) -> "Verdict | None":
        """The first False, else the first Unknown, else the first True."""
        order = {"False": 0, "Unknown": 1, "True": 2}
        return min(verdicts, key=lambda verdict: order[verdict.status], default=None)


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """The pods of a pool by what they do."""

    serving: int = 0
    warm: int = 0
    loading: int = 0
    draining: int = 0
    failed: int = 0

    @property
    def ready(self) -> int:
        """Loaded pods of either role."""
        return self.serving + self.warm


def pool_counts(pool: PoolState) -> PoolCounts:
    """Count each pod once, with the roles that are being given now."""
    roles = roles_after(pool)
    kinds = [_kind(pod, roles[pod.view.uid]) for pod in pool.pods]
    return PoolCounts(**{name: kinds.count(name) for name in ("serving", "warm", "loading", "draining", "failed")})


def _kind(pod: PodState, role: str) -> str:
    if pod.view.deleting:
        return "draining"
    if pod.view.failed:
        return "failed"
    if pod.view.ready:
        return "warm" if role == labels.ROLE_WARM else "serving"
    return "failed" if pod.trouble else "loading"


def pool_verdict(pool: PoolState) -> Verdict:
    """Whether a pool serves what its spec asks for, with pods of its current plan."""
    if pool.plan is None:
        return Verdict("Unknown", Reason.RESOLVING, f"pool {pool.name}: the model store is being read")
    if not pool.plan.feasible:
        problem = next(p for p in pool.plan.problems if not p.warning)
        return Verdict("False", problem.reason, f"pool {pool.name}: {problem.message}")
    progress = pool.deployment.progress if pool.deployment else None
    if progress is None or not progress.observed_current:
        return Verdict("Unknown", Reason.ROLLING_OUT, f"pool {pool.name}: the Deployment is being updated")
    current = _serving_on(pool, pool.plan.lock)
    if current >= pool.serving and progress.updated == progress.replicas:
        return Verdict("True", Reason.READY, _told(pool, current))
    found = _obstacle(pool, progress.refusal)
    if found is not None:
        return found
    reason = Reason.ROLLING_OUT if _serving_on(pool, None) > current else Reason.LOADING
    return Verdict("Unknown", reason, _told(pool, current))


def _told(pool: PoolState, current: int) -> str:
    return f"pool {pool.name}: {current} of {pool.serving} serving replicas are loaded"


def _serving_on(pool: PoolState, lock: str | None) -> int:
    roles = roles_after(pool)
    return sum(
        _kind(pod, roles[pod.view.uid]) == "serving" and (lock is None or pod.view.lock == lock) for pod in pool.pods
    )


def _obstacle(pool: PoolState, refusal: str | None) -> Verdict | None:
    """What keeps pods from loading: the API server's refusal, else the first pod in trouble."""
    if refusal is not None:
        reason = Reason.QUOTA_EXCEEDED if "exceeded quota" in refusal else Reason.POLICY_REFUSED
        return Verdict("False", reason, f"pool {pool.name}: {refusal}")
    lock = pool.plan.lock if pool.plan else None
    troubled = [pod for pod in pool.pods if pod.trouble and not pod.view.deleting and not pod.view.ready]
    troubled.sort(key=lambda pod: (pod.view.lock != lock, pod.trouble.reason if pod.trouble else "", pod.view.name))
    if not troubled or troubled[0].trouble is None:
        return None
    trouble = troubled[0].trouble
    return Verdict("False", trouble.reason, f"pool {pool.name}: {len(troubled)} pods: {trouble.message}")


def warm_verdict(pools: Iterable[PoolState]) -> Verdict:
    """Whether every pool has its loaded standby."""
    wanted = [pool for pool in pools if pool.warm > 0]
    if not wanted:
        return Verdict("True", Reason.DISABLED, "no pool keeps standby replicas")
    missing = [(pool, pool.warm - pool_counts(pool).warm) for pool in wanted]
    missing = [(pool, count) for pool, count in missing if count > 0]
    if not missing:
        return Verdict("True", Reason.FULL, "every standby replica is loaded")
    pool, count = missing[0]
    progress = pool.deployment.progress if pool.deployment else None
    obstacle = _obstacle(pool, progress.refusal if progress else None)
    if obstacle is not None:
        return obstacle
    return Verdict("False", Reason.REFILLING, f"pool {pool.name}: {count} of {pool.warm} standby replicas are missing")
