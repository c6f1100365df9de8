"""All services created at once: time until every child exists, against the same writes by a bare client.

Both sides run on a fresh cluster of the same kind with the same controllers, and both clocks run by the audit log from
the first service received to the last child answered. The bare client creates the services as the user does for the
operator, then sends exactly the manifests that the operator sends, built beforehand.
"""

import asyncio
from collections.abc import Sequence

from e2e.bench import procfs, services
from e2e.bench.audit import SERVICES, AuditLog, Write
from e2e.bench.client import Client, operator_token
from e2e.bench.report import Figure
from e2e.bench.stage import FLEET, Stage, by_operator
from e2e.cluster import Cluster
from e2e.cluster.cluster import to_stderr

NAME = "create"
_TARGET_RATIO = 1.3


def run(stage: Stage) -> list[Figure]:
    """Measure the floor, then the operator."""
    expected = stage.count * services.CHILDREN_PER_SERVICE
    to_stderr(f"{NAME}: {expected:,} children by a bare client")
    floor = _floor(stage)
    to_stderr(f"{NAME}: {expected:,} children by the operator")
    before = procfs.usage(stage.operator.pid)
    log = stage.audit()
    stage.fill()
    writes: list[Write] = []

    def missing() -> str | None:
        writes.extend(log.new())
        made = sum(by_operator(write) and write.of_child and write.code == 201 for write in writes)
        return None if made >= expected else f"{made:,} of {expected:,} children exist"

    stage.watch(missing, seconds=60 + stage.count)
    created = procfs.usage(stage.operator.pid)
    stage.settle()
    settled = procfs.usage(stage.operator.pid)
    floor_seconds, operator_seconds = _seconds(floor, services_too=True), _seconds(writes, services_too=True)
    floor_children = _seconds(floor, services_too=False)
    return [
        Figure(NAME, "bare client: services and children", floor_seconds, "s"),
        Figure(NAME, "bare client: children alone", floor_children, "s"),
        Figure(NAME, "operator: until the last child exists", operator_seconds, "s"),
        Figure(NAME, "operator / bare client", operator_seconds / floor_seconds, "x", _TARGET_RATIO, below=False),
        Figure(NAME, "operator / bare client, children alone", operator_seconds / floor_children, "x"),
        Figure(NAME, "operator: CPU until the last child", created.cpu_seconds - before.cpu_seconds, "s"),
        Figure(NAME, "operator: CPU until at rest", settled.cpu_seconds - before.cpu_seconds, "s"),
        Figure(NAME, "operator: peak memory", settled.peak_mb, "MB"),
    ]


def _floor(stage: Stage) -> list[Write]:
    with stage.fresh_cluster("floor") as cluster:
        log = AuditLog(cluster.state / "audit.log")
        asyncio.run(_write_all(cluster, stage.count))
        return log.new()


async def _write_all(cluster: Cluster, count: int) -> None:
    bodies = [services.service(index) for index in range(count)]
    async with (
        Client(cluster, cluster.admin_token) as user,
        Client(cluster, operator_token(cluster)) as bare,
    ):
        stored = await user.create_services(bodies, FLEET)
        await bare.apply_children(services.first_manifests(stored))


def _seconds(writes: Sequence[Write], *, services_too: bool) -> float:
    """From the first write received to the last child answered."""
    children = [write for write in writes if by_operator(write) and write.of_child and write.code == 201]
    first = [write for write in writes if write.resource == SERVICES and not write.subresource]
    return max(write.answered for write in children) - min(
        write.received for write in (first if services_too else children)
    )
