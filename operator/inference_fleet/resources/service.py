"""The two Services over a service's serving pods, of all pools.

Both select the service and the role, so that a standby or draining pod, or another model, never gets a request. The
readiness of a pod counts: a loading pod may already be labelled serving. Fields that the API server would drop as
defaults, such as `publishNotReadyAddresses: false`, are not written: they would look like drift for ever.
"""

from typing import Any

from inference_fleet.api import labels, names
from inference_fleet.resources.inputs import Fleet, Manifest
from inference_fleet.resources.metadata import child
from inference_fleet.resources.probes import HTTP_PORT_NAME

CLIENT_PORT = 8000


def client_service(fleet: Fleet) -> Manifest:
    """The ClusterIP Service that clients use."""
    spec = {"type": "ClusterIP", **_over_serving_pods(fleet)}
    return _service(fleet, names.client_service(fleet.owner.name), spec)


def engines_service(fleet: Fleet) -> Manifest:
    """The headless Service that routers resolve to pod addresses."""
    spec = {"type": "ClusterIP", "clusterIP": "None", **_over_serving_pods(fleet)}
    return _service(fleet, names.engines_service(fleet.owner.name), spec)


def _over_serving_pods(fleet: Fleet) -> dict[str, Any]:
    return {
        "selector": {
            labels.SERVICE: names.label_value(fleet.owner.name),
            labels.ROLE: labels.ROLE_SERVING,
        },
        "ports": [{"name": HTTP_PORT_NAME, "port": CLIENT_PORT, "targetPort": HTTP_PORT_NAME, "protocol": "TCP"}],
    }


def _service(fleet: Fleet, name: str, spec: dict[str, Any]) -> Manifest:
    return child(fleet, "v1", "Service", name, labels.service_labels(fleet.owner.name), spec)
