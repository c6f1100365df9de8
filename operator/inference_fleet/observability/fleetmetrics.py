"""The fleet in Prometheus' text format, written from the statuses when it is scraped.

Nothing is kept up to date and nothing is left behind by a deleted service. The lines are written here and not by the
client library: a thousand services of three pools are 25,000 lines, for which it takes a third of a second of the
loop's only thread.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Statuses = Callable[[], Iterable[tuple[str, str, Any]]]
"""Namespace, name and stored status of every service."""

_STATES = {
    "serving": "serving",
    "warm": "warm",
    "loading": "loading",
    "draining": "draining",
    "failed": "failed",
    "desired_serving": "desiredServing",
    "desired": "desired",
}


def fleet_text(statuses: Statuses) -> str:
    """All families. A status that is not ours to read (wiped, or not yet written) has no lines."""
    ready, replicas, locks = [], [], []
    for namespace, service, status in statuses():
        if not isinstance(status, Mapping):
            continue
        of_service = f'namespace="{namespace}",service="{service}"'
        ready.append(f"inference_fleet_service_ready{{{of_service}}} {int(_is_ready(status))}")
        for pool in status.get("pools") or ():
            of_pool = f'{of_service},pool="{pool["name"]}"'
            replicas += _replicas(of_pool, pool)
            if pool.get("lock"):
                locks.append(f'inference_fleet_pool_lock_info{{{of_pool},lock="{pool["lock"]}"}} 1')
    return "".join(
        (
            *_family("inference_fleet_service_ready", "1 if the service is Ready.", ready),
            *_family("inference_fleet_pool_replicas", "Replicas of a pool by what they do.", replicas),
            *_family("inference_fleet_pool_lock_info", "The lock of a pool.", locks),
        )
    )


def _is_ready(status: Mapping[str, Any]) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions") or ())


def _replicas(of_pool: str, pool: Mapping[str, Any]) -> list[str]:
    # Names of namespaces, services and pools hold nothing that the format would want escaped.
    return [
        f'inference_fleet_pool_replicas{{{of_pool},state="{state}"}} {pool.get(key, 0)}'
        for state, key in _STATES.items()
    ]


def _family(name: str, told: str, lines: list[str]) -> Iterator[str]:
    yield f"# HELP {name} {told}\n# TYPE {name} gauge\n"
    for line in lines:
        yield f"{line}\n"
