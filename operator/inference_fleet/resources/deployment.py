"""The Deployment of a pool: serving and standby pods together."""

from inference_fleet.api import labels
from inference_fleet.catalog.engines import engine_version
from inference_fleet.resources.drain import drain_of
from inference_fleet.resources.inputs import Fleet, Manifest, PoolTarget
from inference_fleet.resources.metadata import child
from inference_fleet.resources.pod import pod_template
from inference_fleet.resources.probes import progress_deadline

MIN_READY_SECONDS = 10
"""Between a new pod that is Ready and the next old pod that is taken: time to give the new one a role."""
_REVISIONS_KEPT = 3


def deployment(fleet: Fleet, target: PoolTarget) -> Manifest:
    """One Deployment per pool, replicas = serving + warm.

    GPUs are full in a real fleet, so a rollout adds no pod (maxSurge 0); it takes as many at once as stand by, at
    least one: the standby pays for the rollout and the serving capacity holds.
    """
    service, pool = fleet.owner.name, target.pool.name
    graceful = engine_version(target.engine.image).accepts("--shutdown-timeout")
    drain = drain_of(fleet.spec.drain_seconds, graceful_engine=graceful)
    template = pod_template(fleet, target, drain)
    spec = {
        "replicas": target.serving + target.warm,
        "selector": {"matchLabels": labels.selector_labels(service, pool)},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 0, "maxUnavailable": max(1, target.warm)},
        },
        "minReadySeconds": MIN_READY_SECONDS,
        "progressDeadlineSeconds": progress_deadline(fleet.model.bytes),
        "revisionHistoryLimit": _REVISIONS_KEPT,
        "template": template,
    }
    child_labels = {**labels.pool_labels(service, pool), labels.LOCK: target.lock}
    pulls = template["spec"].get("initContainers")
    annotations = {labels.PULL_IMAGE: pulls[0]["image"]} if pulls else {}
    return child(fleet, "apps/v1", "Deployment", target.name, child_labels, spec, annotations=annotations)
