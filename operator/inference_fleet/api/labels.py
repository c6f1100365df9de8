"""Every label, annotation and API name the operator uses, in one place.

The labels in `selector_labels` select pods in Deployments, Services and PodDisruptionBudgets. They are frozen for
ever: a Deployment's selector is immutable, so a changed key would orphan every running fleet.
"""

from inference_fleet.api.names import label_value

GROUP = "inferencefleet.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
KIND = "InferenceService"
PLURAL = "inferenceservices"

FIELD_MANAGER = "inference-fleet"
STATUS_FIELD_MANAGER = "inference-fleet-status"

SERVICE = f"{GROUP}/service"
POOL = f"{GROUP}/pool"
ROLE = f"{GROUP}/role"
LOCK = f"{GROUP}/lock"

ROLE_SERVING = "serving"
ROLE_WARM = "warm"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGED_BY_VALUE = "inference-fleet"
PART_OF = "app.kubernetes.io/part-of"
COMPONENT = "app.kubernetes.io/component"
NAME = "app.kubernetes.io/name"

APPLIED_HASH = f"{GROUP}/applied"
"""Annotation on every child: hash of the manifest last applied; tells a field dropped from the desired state."""
STANDBY_PODS = f"{GROUP}/standby-pods"
"""Annotation on the budget: hash of the standby pods. The disruption controller does not notice a pod that is
relabelled out of its selector; a changed budget makes it look again."""
PULL_IMAGE = f"{GROUP}/pull-image"
"""Annotation on a Deployment: image of its init container, kept over operator upgrades while the lock stands."""
MODEL_DIGEST = f"{GROUP}/model-digest"
MODEL_NAME = f"{GROUP}/model-name"
MODEL_URI = f"{GROUP}/model-uri"
POD_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"

CHILD_SELECTOR = f"{MANAGED_BY}={MANAGED_BY_VALUE}"
"""Server-side selector of all that the operator watches besides InferenceServices."""


def service_labels(service: str) -> dict[str, str]:
    """Labels of every child of a service."""
    return {
        SERVICE: label_value(service),
        MANAGED_BY: MANAGED_BY_VALUE,
        PART_OF: "inference-fleet",
        COMPONENT: "engine",
        NAME: label_value(service),
    }


def pool_labels(service: str, pool: str) -> dict[str, str]:
    """Labels of every child of one pool of a service."""
    return {**service_labels(service), POOL: pool}


def selector_labels(service: str, pool: str) -> dict[str, str]:
    """What a pool's Deployment selects its pods by: without the role, so that a promotion keeps the owner."""
    return {SERVICE: label_value(service), POOL: pool}
