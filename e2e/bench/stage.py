"""What the benchmarks share: one audited cluster with the operator and its fleet, made when first asked for."""

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from e2e.bench import services
from e2e.bench.audit import AuditLog, Write
from e2e.bench.client import Client
from e2e.cluster import Cluster, ClusterError
from e2e.cluster.cluster import to_stderr
from e2e.cluster.nodes import GPUS_PER_NODE
from e2e.operator_process import USER, OperatorProcess, install

FLEET = "bench"
"""The namespace of the services."""
_QUIET_SECONDS = 10.0
_LOOK_EVERY = 1.0
_TOLD_EVERY = 5.0


class Stage:
    """Use as a context manager: the clusters go down at its end."""

    def __init__(self, count: int) -> None:
        """Plan for `count` services."""
        self.count = count
        self._stack = ExitStack()
        self._cluster: Cluster | None = None
        self._operator: OperatorProcess | None = None
        self._filled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stack.close()

    def fresh_cluster(self, purpose: str) -> Cluster:
        """A cluster with room for one pod per service, the resource and the operator's account installed."""
        nodes = {services.H100: -(-self.count // GPUS_PER_NODE)}
        cluster = Cluster.up(name=f"bench-{purpose}-{os.getpid()}", nodes=nodes, audit=True)
        try:
            install(cluster)
            services.prepare(cluster, FLEET)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    @property
    def cluster(self) -> Cluster:
        """The cluster of the operator."""
        if self._cluster is None:
            self._cluster = self._stack.enter_context(self.fresh_cluster("fleet"))
        return self._cluster

    @property
    def operator(self) -> OperatorProcess:
        """The running operator."""
        if self._operator is None:
            self._operator = OperatorProcess(self.cluster)
            self._operator.start()
        return self._operator

    def audit(self) -> AuditLog:
        """The writes from now on."""
        return AuditLog(self.cluster.state / "audit.log")

    def fill(self) -> None:
        """Create every service at once; done before, it does nothing."""
        if self._filled:
            return
        bodies = [services.service(index) for index in range(self.count)]
        cluster = self.cluster

        async def create() -> None:
            async with Client(cluster, cluster.admin_token) as client:
                await client.create_services(bodies, FLEET)

        to_stderr(f"creating {self.count:,} services")
        asyncio.run(create())
        self._filled = True

    def settle(self, seconds: float = 900) -> None:
        """Fill the fleet and wait until every service is Ready and the operator has been quiet for a while."""
        _ = self.operator
        self.fill()
        log, last_write = self.audit(), time.monotonic()

        def quiet() -> str | None:
            nonlocal last_write
            if sum(map(by_operator, log.new())):
                last_write = time.monotonic()
            if time.monotonic() - last_write < _QUIET_SECONDS:
                return "waiting for the operator to come to rest"
            ready = self.ready_services()
            return None if ready == self.count else f"{ready:,} of {self.count:,} services are Ready"

        self.watch(quiet, seconds)

    def ready_services(self) -> int:
        """How many services say Ready for their newest generation."""
        path = f"/apis/inferencefleet.io/v1alpha1/namespaces/{FLEET}/inferenceservices"
        items = self.cluster.api.request("GET", path)["items"]
        return sum(_is_ready(item) for item in items)

    def watch(self, look: Callable[[], str | None], seconds: float) -> None:
        """Call `look` until it answers None; what it answers otherwise is told now and then."""
        begin = told = time.monotonic()
        while (state := look()) is not None:
            now = time.monotonic()
            if now - begin > seconds:
                raise ClusterError(f"after {seconds:g} s: {state}")
            if now - told > _TOLD_EVERY:
                told = now
                to_stderr(f"{now - begin:6.0f} s  {state}")
            time.sleep(_LOOK_EVERY)


def by_operator(write: Write) -> bool:
    """Whether the operator wrote it. Refused writes count: they cost the same. The Lease is no work on the fleet."""
    return write.user == USER and write.resource != "leases"


def of_lease(write: Write) -> bool:
    """Whether the operator renewed its Lease."""
    return write.user == USER and write.resource == "leases"


def _is_ready(item: dict[str, Any]) -> bool:
    status = item.get("status", {})
    current = status.get("observedGeneration") == item["metadata"]["generation"]
    return current and any(c["type"] == "Ready" and c["status"] == "True" for c in status.get("conditions", ()))
