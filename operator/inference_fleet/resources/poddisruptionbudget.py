"""The disruption budget of a pool: serving pods only.

`minAvailable` is an integer: with `maxUnavailable` or a percentage the disruption controller counts what is expected
from the Deployment's replicas, standby included, while only serving pods match the selector, and no eviction is ever
allowed. A standby matches no budget and may always be evicted. A pod that is not Ready may too: a crash-looping
service must not block the repair of a node.
"""

from inference_fleet.api import labels
from inference_fleet.resources.inputs import Fleet, Manifest, PoolTarget
from inference_fleet.resources.metadata import child

DEFAULT_MAX_UNAVAILABLE = 1


def disruption_budget(fleet: Fleet, target: PoolTarget) -> Manifest:
    """At least serving - disruption.maxUnavailable (1 if left out) Ready serving pods, never below 0."""
    disruption = fleet.spec.disruption
    given = None if disruption is None else disruption.max_unavailable
    max_unavailable = DEFAULT_MAX_UNAVAILABLE if given is None else given
    service, pool = fleet.owner.name, target.pool.name
    spec = {
        "minAvailable": max(0, target.serving - max_unavailable),
        "selector": {
            "matchLabels": {**labels.selector_labels(service, pool), labels.ROLE: labels.ROLE_SERVING},
        },
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }
    annotations = {labels.STANDBY_PODS: target.standby_pods} if target.standby_pods else {}
    return child(
        fleet,
        "policy/v1",
        "PodDisruptionBudget",
        target.name,
        labels.pool_labels(service, pool),
        spec,
        annotations=annotations,
    )
