"""Two operators, one writer: shown by what the API server's audit log says of each (B35)."""

import signal
import time
from collections.abc import Iterator

import pytest

from e2e.cluster import Cluster
from e2e.operator_process import NAMESPACE, USER, OperatorProcess, install
from tests.controlplane.fleet import Fleet, pool, service

LEASE = ("get", "lease", "inference-fleet", "-o", "jsonpath={.spec.holderIdentity}")


@pytest.fixture(scope="module")
def alone() -> Iterator[Cluster]:
    """A cluster of its own: the session's operator holds the Lease of the other one."""
    with Cluster.up(name="leadership", audit=True, load_seconds=1) as own:
        install(own)
        yield own


@pytest.fixture
def pair(alone: Cluster) -> Iterator[tuple[OperatorProcess, OperatorProcess]]:
    """A leader, and one that waits."""
    first, second = OperatorProcess(alone, "first"), OperatorProcess(alone, "second")
    first.start()
    alone_fleet = Fleet(alone, NAMESPACE)
    alone_fleet.until("the first one leading", lambda: holder(alone))
    second.start()
    yield first, second
    for process in (first, second):
        if any(running.name == process.name for running in alone.processes.list()):
            process.stop()


def holder(cluster: Cluster) -> str:
    return cluster.kubectl("-n", NAMESPACE, *LEASE)


def fleet_in(cluster: Cluster, namespace: str) -> Fleet:
    cluster.kubectl("create", "namespace", namespace)
    fleet = Fleet(cluster, namespace)
    fleet.make_claim()
    return fleet


def is_replaced(fleet: Fleet, uid: str) -> bool:
    return fleet.exists("service", "chat") and fleet.get("service", "chat")["metadata"]["uid"] != uid


def seconds_until_repaired(fleet: Fleet, within: float) -> float:
    """Delete a child, and time its coming back."""
    uid = fleet.get("service", "chat")["metadata"]["uid"]
    started = time.monotonic()
    fleet.kubectl("delete", "service", "chat", "--wait=false")
    fleet.until("the child being back", lambda: is_replaced(fleet, uid), seconds=within)
    return time.monotonic() - started


def test_a_waiting_operator_is_ready_and_writes_nothing(
    alone: Cluster, pair: tuple[OperatorProcess, OperatorProcess]
) -> None:
    _, second = pair
    leader = holder(alone)
    fleet = fleet_in(alone, "waiting")
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    assert second.answers("readyz") == "ok"
    assert second.answers("healthz") == "ok"
    assert holder(alone) == leader
    metrics = second.answers("metrics") or ""
    assert not [line for line in metrics.splitlines() if line.startswith("inference_fleet_writes_total{")]


def test_an_orderly_stop_hands_over_within_three_seconds(
    alone: Cluster, pair: tuple[OperatorProcess, OperatorProcess]
) -> None:
    first, _ = pair
    fleet = fleet_in(alone, "orderly")
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    leader = holder(alone)
    alone.processes.signal(first.name, signal.SIGTERM)
    assert Fleet(alone, NAMESPACE).until("another holder", lambda: holder(alone) not in ("", leader), seconds=3)
    assert seconds_until_repaired(fleet, within=10) < 10


def test_a_killed_leader_is_replaced_within_twenty_seconds_and_never_are_there_two(
    alone: Cluster, pair: tuple[OperatorProcess, OperatorProcess]
) -> None:
    first, _ = pair
    fleet = fleet_in(alone, "killed")
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    first.kill()
    assert seconds_until_repaired(fleet, within=20) < 20
    fleet.until_ready()
    assert_one_writer_at_a_time(alone)


def assert_one_writer_at_a_time(cluster: Cluster) -> None:
    """Every write is of the process that wrote the Lease last. Each process has a token of its own to be told by."""
    holder, holders, writes = "", set(), 0
    for event in sorted(cluster.audit_events(user=USER), key=lambda event: event["requestReceivedTimestamp"]):
        if event["responseStatus"]["code"] >= 300:
            continue
        (token,) = event["user"]["extra"]["authentication.kubernetes.io/credential-id"]
        if event["objectRef"]["resource"] == "leases":
            holder = token
            holders.add(token)
        elif event["objectRef"]["resource"] != "events":
            assert token == holder, event
            writes += 1
    assert len(holders) >= 2
    assert writes > 10
