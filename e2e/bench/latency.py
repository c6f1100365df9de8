"""Many changes a second: how long from a change that the API server has taken to the first write of a child for it.

Each change turns `disruption.maxUnavailable` of a service between 0 and 1, and so its budget: of all changes the one
that gives the other controllers least to do, which would otherwise take the machine of this small cluster for
themselves. Both ends are moments of the API server, by its audit log: from its answer to the user until it receives
the operator's write, so that the time it takes itself is left out. A change that no write follows fails the benchmark.
"""

import asyncio
import json
import statistics
from collections.abc import Sequence

from e2e.bench import procfs, services
from e2e.bench.audit import SERVICES, Write, delays
from e2e.bench.client import Client
from e2e.bench.report import Figure
from e2e.bench.stage import FLEET, Stage, by_operator
from e2e.cluster import Cluster
from e2e.cluster.api import MERGE_PATCH
from e2e.cluster.cluster import to_stderr
from inference_fleet.api import labels

NAME = "latency"
_PER_SECOND = 50
_SECONDS = 30
_TARGET_SECONDS = 1.0


def run(stage: Stage) -> list[Figure]:
    """Measure on the settled fleet."""
    stage.settle()
    log, before = stage.audit(), procfs.usage(stage.operator.pid)
    to_stderr(f"{NAME}: {_PER_SECOND} changes a second for {_SECONDS} s")
    asyncio.run(_change(stage.cluster, stage.count))
    after = procfs.usage(stage.operator.pid)
    stage.settle()
    writes = log.new()
    changes = [w for w in writes if w.resource == SERVICES and not w.subresource and w.code == 200]
    names = [services.name(index) for index in range(stage.count)]
    service_of = {child: name for name in names for child in services.child_names(name)}
    found = sorted(delays(changes, [w for w in writes if by_operator(w) and w.of_child], service_of))
    spread = changes[-1].answered - changes[0].answered
    return [
        Figure(NAME, "changes per second, as they were taken", len(changes) / spread, "/s"),
        Figure(NAME, "the API server's own answer to a change, P99", _p99(_answers(changes)), "s"),
        Figure(NAME, "change to first write of a child, median", statistics.median(found), "s"),
        Figure(NAME, "change to first write of a child, P99", _p99(found), "s", _TARGET_SECONDS),
        Figure(
            NAME, "operator: CPU meanwhile, of one core", 100 * (after.cpu_seconds - before.cpu_seconds) / spread, "%"
        ),
    ]


async def _change(cluster: Cluster, count: int) -> None:
    """Send each change at its own time, whatever the ones before it are doing."""
    loop = asyncio.get_running_loop()
    async with Client(cluster, cluster.admin_token) as client:
        begin, sent = loop.time(), []
        for number in range(_PER_SECOND * _SECONDS):
            await asyncio.sleep(begin + number / _PER_SECOND - loop.time())
            allowed = number // count % 2
            sent.append(asyncio.create_task(_allow(client, services.name(number % count), allowed)))
        await asyncio.gather(*sent)


async def _allow(client: Client, service: str, disrupted: int) -> None:
    path = f"/apis/{labels.API_VERSION}/namespaces/{FLEET}/{labels.PLURAL}/{service}"
    patch = {"spec": {"disruption": {"maxUnavailable": disrupted}}}
    await client.send("PATCH", path, json.dumps(patch).encode(), MERGE_PATCH)


def _answers(writes: Sequence[Write]) -> list[float]:
    return sorted(write.answered - write.received for write in writes)


def _p99(ascending: Sequence[float]) -> float:
    return ascending[min(len(ascending) - 1, round(0.99 * len(ascending)))]
