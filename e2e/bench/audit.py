"""Who wrote what and when, by the API server's own clock: the audit log, read as it grows."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from pathlib import Path
from typing import Any

CHILDREN = frozenset({"services", "poddisruptionbudgets", "deployments"})
SERVICES = "inferenceservices"


@dataclass(frozen=True, slots=True)
class Write:
    """One write that the API server answered. Times are seconds since the epoch, to the microsecond."""

    user: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    received: float
    answered: float

    @property
    def of_child(self) -> bool:
        """Whether it wrote an object of a kind that the operator keeps for a service."""
        return self.resource in CHILDREN and not self.subresource


class AuditLog:
    """Each call of `new` gives what was written since the last one."""

    def __init__(self, path: Path) -> None:
        """Begin with what is written from now on."""
        self._path = path
        self._offset = path.stat().st_size if path.exists() else 0

    def new(self) -> list[Write]:
        """Give the writes in the order of the log; an unfinished last line is left for the next call."""
        with self._path.open("rb") as log:
            log.seek(self._offset)
            lines = [line for line in log if line.endswith(b"\n")]
        self._offset += sum(map(len, lines))
        return [write(json.loads(line)) for line in lines]


def write(event: Mapping[str, Any]) -> Write:
    """Read one audit event."""
    target = event.get("objectRef") or {}
    return Write(
        user=event["user"]["username"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        received=_seconds(event["requestReceivedTimestamp"]),
        answered=_seconds(event["stageTimestamp"]),
    )


def delays(changes: Iterable[Write], child_writes: Sequence[Write], service_of: Mapping[str, str]) -> list[float]:
    """Seconds from the answer to each change until the first write of a child of that service is received.

    The operator may see a change before its author has the answer, which counts as no time at all. A change that no
    write follows is infinitely late. `service_of` maps a child's name to its service's.
    """
    times: dict[str, list[float]] = {}
    for child in child_writes:
        times.setdefault(service_of.get(child.name, ""), []).append(child.received)
    return [
        max(0.0, min((t for t in times.get(change.name, ()) if t >= change.received), default=inf) - change.answered)
        for change in changes
    ]


def _seconds(stamp: str) -> float:
    return datetime.fromisoformat(stamp).timestamp()
