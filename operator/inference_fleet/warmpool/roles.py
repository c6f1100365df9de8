"""Which pods of a pool serve and which stand by.

A role is a label outside the Deployment's selector, so that a change of role is one metadata patch: every
EndpointSlice follows at once and no pod restarts. The answer depends on the pods alone, never on the last answer: a
lost event, a restart of the operator or a patch that failed half-way is put right by the next call.

The order of preference for a serving slot:

1. Ready before loading: a Ready standby takes the place of a serving pod that is lost, loading or unready.
2. Among Ready pods those of the current lock: in a rollout each Ready new pod displaces an old serving pod, which is
   drained as a standby and then taken by the Deployment (a rollout takes pods strictly in deletion-cost order).
3. Those that serve already: no change of role without a reason.
4. The longest Ready, then the oldest, then by name: the answer is the same whatever order the pods come in.

Pods are born serving, so that a pod replaced while the operator is down serves. A loading pod therefore keeps
`serving` while a slot is free, and is demoted where none is, before it can flash through the Service.
"""

from collections.abc import Sequence

from inference_fleet.api.labels import ROLE_SERVING, ROLE_WARM
from inference_fleet.warmpool.pods import PodView, RoleChange

WARM_DELETION_COST = "-100"
"""Lower than the 0 of a serving pod: a Deployment that shrinks or rolls takes standby pods first."""


def assign_roles(pods: Sequence[PodView], serving_target: int, current_lock: str) -> tuple[RoleChange, ...]:
    """The changes that leave the `serving_target` best pods serving and the others warm.

    Demotions come first: applied in order, the number of serving pods never passes the target on the way up. Pods
    that are being deleted or have ended are left alone. Applying the changes and asking again gives no change.
    """
    living = [pod for pod in pods if not pod.deleting and not pod.failed]
    ranked = sorted(living, key=lambda pod: _preference(pod, current_lock))
    slots = max(0, serving_target)
    demoted = [_change(pod, ROLE_WARM, WARM_DELETION_COST) for pod in ranked[slots:]]
    promoted = [_change(pod, ROLE_SERVING, None) for pod in ranked[:slots]]
    return tuple(change for change in (*demoted, *promoted) if change is not None)


def _preference(pod: PodView, current_lock: str) -> tuple[bool, bool, bool, str, str, str]:
    since = (pod.ready_since or pod.created) if pod.ready else pod.created
    return (not pod.ready, pod.lock != current_lock, pod.role != ROLE_SERVING, since, pod.created, pod.name)


def _change(pod: PodView, role: str, cost: str | None) -> RoleChange | None:
    if pod.role == role and pod.deletion_cost == cost:
        return None
    return RoleChange(name=pod.name, uid=pod.uid, role=role, deletion_cost=cost)
