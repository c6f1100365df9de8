"""Kubernetes Events: one when Ready changes its status or reason, none otherwise. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from inference_fleet.api import labels, names
from inference_fleet.api.conditions import ConditionType
from inference_fleet.api.v1alpha1.status import Condition
from inference_fleet.reconciler.observed import ServiceView


def ready_event(
    service: ServiceView, before: Sequence[Condition], after: Sequence[Condition], now: datetime
) -> dict[str, Any] | None:
    """The Event that tells of a change of Ready, or None."""
    old, new = _ready(before), _ready(after)
    if new is None or (old is not None and (old.status, old.reason) == (new.status, new.reason)):
        return None
    stamp = now.strftime("%Y-%m-%dT%H:%M:%SZ")
    unique = names.stable_hash(f"{service.uid}{new.status}{new.reason}{now.timestamp()}", 16)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{names.dns_label(service.key.name)[:46]}.{unique}", "namespace": service.key.namespace},
        "involvedObject": {
            "apiVersion": labels.API_VERSION,
            "kind": labels.KIND,
            "name": service.key.name,
            "namespace": service.key.namespace,
            "uid": service.uid,
        },
        "type": "Warning" if new.status == "False" else "Normal",
        "reason": new.reason,
        "message": new.message,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
        "source": {"component": labels.FIELD_MANAGER},
        "reportingComponent": labels.FIELD_MANAGER,
        "reportingInstance": labels.FIELD_MANAGER,
    }


def _ready(conditions: Sequence[Condition]) -> Condition | None:
    return next((c for c in conditions if c.type == ConditionType.READY), None)
