"""A lost node, as the events tell it: which moments have come, and how long a promotion took. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from inference_fleet.api import labels

Json = Mapping[str, Any]
NODE_CONTROLLER = "system:serviceaccount:kube-system:node-controller"


class Moment(StrEnum):
    """What happens after a node falls silent, in this order."""

    NODE_NOT_READY = "node not ready"
    PROMOTED = "promoted"
    EVICTED = "evicted"
    REPLACED = "replaced"
    REFILLED = "refilled"


@dataclass
class NodeLoss:
    """The loss of one node under one serving pod, whose pool had `pods` (name to role) before."""

    node: str
    pool: str
    lost: str
    pods: Mapping[str, str]
    reached: dict[Moment, float] = field(default_factory=dict)
    promoted: str = ""
    replacement: str = ""

    def see(self, at: float, obj: Json) -> Iterator[Moment]:
        """Take in an event about the node or a pod of the pool; give the moments that it brings."""
        moments = self._of_node(obj) if obj["kind"] == "Node" else self._of_pod(obj)
        for moment in moments:
            if moment not in self.reached:
                self.reached[moment] = at
                yield moment

    @property
    def over(self) -> bool:
        """Whether the standby is back, whatever else was seen."""
        return {Moment.NODE_NOT_READY, Moment.PROMOTED, Moment.REFILLED} <= self.reached.keys()

    def between(self, first: Moment, then: Moment) -> float:
        """Seconds from one moment to another."""
        return self.reached[then] - self.reached[first]

    def _of_node(self, node: Json) -> Iterator[Moment]:
        if node["metadata"]["name"] == self.node and not is_ready(node):
            yield Moment.NODE_NOT_READY

    def _of_pod(self, pod: Json) -> Iterator[Moment]:
        name, role = pod["metadata"]["name"], pod["metadata"]["labels"].get(labels.ROLE)
        if name == self.lost and "deletionTimestamp" in pod["metadata"]:
            yield Moment.EVICTED
        if self.pods.get(name) == labels.ROLE_WARM and role == labels.ROLE_SERVING and not self.promoted:
            self.promoted = name
            yield Moment.PROMOTED
        if name not in self.pods:
            self.replacement = name
            yield Moment.REPLACED
            if is_ready(pod) and role == labels.ROLE_WARM:
                yield Moment.REFILLED


def promotion_seconds(audit: Iterable[Json], loss: NodeLoss, since: datetime, operator: str) -> float | None:
    """From the node's change of condition to the standby's label, as the API server stamped its own answers.

    One clock, and no client's scheduling in between. `audit` are audit events in order, `operator` is the user that
    labels pods. None where the log does not hold both writes.
    """
    silent: datetime | None = None
    for event in audit:
        at = datetime.fromisoformat(event["stageTimestamp"])
        if at < since:
            continue
        what, user = event["objectRef"], event["user"]["username"]
        if (what["resource"], what.get("name"), what.get("subresource")) == ("nodes", loss.node, "status"):
            silent = at if user == NODE_CONTROLLER and silent is None else silent
        elif (what["resource"], what.get("name"), user) == ("pods", loss.promoted, operator) and silent is not None:
            return (at - silent).total_seconds()
    return None


def is_ready(obj: Json) -> bool:
    """Whether a node or a pod says Ready."""
    conditions = obj.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
