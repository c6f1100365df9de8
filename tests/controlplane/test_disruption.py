"""Drains, lost nodes and rollouts, and a fleet without its operator: what serves goes on serving."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from e2e.cluster import Cluster
from e2e.cluster.api import Api
from e2e.operator_process import OperatorProcess
from inference_fleet.api import labels
from tests.controlplane.fleet import Fleet, Json, pool, service


def is_serving(pod: Json) -> bool:
    ready = next((c["status"] for c in pod.get("status", {}).get("conditions", []) if c["type"] == "Ready"), "False")
    return (
        ready == "True"
        and "deletionTimestamp" not in pod["metadata"]
        and pod["metadata"]["labels"].get(labels.ROLE) == labels.ROLE_SERVING
    )


class Watcher:
    """Counts the loaded serving pods of a namespace, again and again, on a connection of its own."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._api = Api(cluster.server, cluster.ca_file, cluster.admin_token)
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.counts: list[tuple[float, int]] = []

    def count(self) -> int:
        return sum(map(is_serving, self._api.request("GET", self._path)["items"]))

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self.counts.append((time.monotonic(), self.count()))

    def __enter__(self) -> "Watcher":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._api.close()

    def seconds_below(self, least: int) -> float:
        """The longest time in a row with fewer than `least`."""
        longest, since = 0.0, None
        for moment, count in self.counts:
            since = None if count >= least else since or moment
            longest = max(longest, moment - since if since else 0.0)
        return longest


@contextmanager
def cordoned(cluster: Cluster, *nodes: str) -> Iterator[None]:
    """Undo a drain afterwards: the cluster is shared."""
    try:
        yield
    finally:
        cluster.kubectl("uncordon", *nodes)


def drain(fleet: Fleet, *nodes: str) -> None:
    selector = f"{labels.MANAGED_BY}={labels.MANAGED_BY_VALUE}"
    fleet.cluster.kubectl(
        "drain", *nodes, f"--pod-selector={selector}", "--timeout=60s", "--delete-emptydir-data", timeout=90
    )


def nodes_of(pods: list[Json]) -> list[str]:
    return [pod["spec"]["nodeName"] for pod in pods]


@pytest.mark.parametrize("serving", [1, 2])
def test_a_drain_ends_and_a_standby_takes_over(fleet: Fleet, cluster: Cluster, serving: int) -> None:
    fleet.apply(service("chat", pool(serving=serving)))
    fleet.until_ready()
    node = nodes_of(fleet.pods(role="serving"))[0]
    with cordoned(cluster, node), Watcher(cluster, fleet.namespace) as watcher:
        drain(fleet, node)
        fleet.until_ready()
        assert node not in nodes_of(fleet.pods())
    assert watcher.seconds_below(serving) < 2


def test_a_drain_ends_without_a_standby_and_with_pods_that_never_load(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=1), warmPool={"percent": 0}))
    fleet.until_ready()
    (only,) = fleet.pods()
    fleet.kubectl("annotate", "pod", only["metadata"]["name"], "sim.inferencefleet.io/fail=CrashLoopBackOff")
    fleet.until_reason("CrashLoop")
    with cordoned(cluster, only["spec"]["nodeName"]):
        drain(fleet, only["spec"]["nodeName"])
        fleet.until_ready()


def test_two_drains_at_once_end_and_keep_what_the_budget_asks_for(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=3)))
    fleet.until_ready()
    nodes = nodes_of(fleet.pods(role="serving"))[:2]
    with cordoned(cluster, *nodes), Watcher(cluster, fleet.namespace) as watcher:
        drain(fleet, *nodes)
        fleet.until_ready()
    assert watcher.seconds_below(2) < 2


def test_a_rollout_on_full_gpus_never_takes_more_than_the_budget_allows(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=3)))
    fleet.until_ready()
    old = {pod["metadata"]["uid"] for pod in fleet.pods()}
    with Watcher(cluster, fleet.namespace) as watcher:
        fleet.patch("chat", {"engine": {"image": "vllm/vllm-openai:v0.33.0"}})
        fleet.until("a new generation", lambda: fleet.status()["observedGeneration"] == 2)
        fleet.until_ready(seconds=150)
    assert old.isdisjoint(pod["metadata"]["uid"] for pod in fleet.pods())
    assert watcher.seconds_below(3) < 2


def test_a_rollout_that_crashes_stops_by_itself_and_goes_back_on_a_new_spec(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=3)))
    fleet.until_ready()
    with Watcher(cluster, fleet.namespace) as watcher:
        fleet.patch("chat", {"engine": {"image": "registry.example/does-not-exist:v0.33.0"}})
        told = fleet.until_reason("ImagePullFailed")
        assert "does-not-exist" in told["message"]
        fleet.until("old pods serving", lambda: watcher.count() == 3)
        fleet.patch("chat", {"engine": {"image": "vllm/vllm-openai:v0.32.0"}})
        fleet.until_ready(seconds=90)
    assert watcher.seconds_below(3) < 2


def test_pods_that_hang_on_a_lost_node_do_not_count_and_its_return_leaves_no_surplus(
    fleet: Fleet, cluster: Cluster
) -> None:
    fleet.apply(service("chat", pool(serving=2)))
    fleet.until_ready()
    node = nodes_of(fleet.pods(role="serving"))[0]
    cluster.stop_node(node)
    try:
        with Watcher(cluster, fleet.namespace) as watcher:
            fleet.until("two serving elsewhere", lambda: watcher.count() == 2)
            for pod in fleet.pods():
                if pod["spec"]["nodeName"] == node:
                    fleet.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")

            def is_told() -> bool:
                status = fleet.status()["pools"][0]
                hanging = len(fleet.children("chat", "pods")) - len(fleet.pods())
                return hanging >= 1 and (status["serving"], status["warm"], status["draining"]) == (2, 1, hanging)

            fleet.until("the status counting the hanging pods apart", is_told)
    finally:
        cluster.start_node(node)
    fleet.until("no pod left over", lambda: len(fleet.children("chat", "pods")) == 3)
    fleet.until_ready()


def test_without_the_operator_lost_pods_are_replaced_and_serve_and_its_return_only_demotes_the_surplus(
    fleet: Fleet, operator: OperatorProcess
) -> None:
    fleet.apply(service("chat", pool(serving=2)))
    fleet.until_ready()
    generation = fleet.get("deployment", "chat-h100")["metadata"]["generation"]
    operator.stop()
    try:
        for pod in fleet.pods():
            fleet.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")
        born_serving: Callable[[], bool] = lambda: len([p for p in fleet.pods() if is_serving(p)]) == 3  # noqa: E731
        fleet.until("Kubernetes alone having replaced them", born_serving)
        fleet.until("clients reaching all three", lambda: len(fleet.endpoints("chat")) == 3)
        before = {pod["metadata"]["uid"] for pod in fleet.pods()}
    finally:
        operator.start()
    fleet.until_ready()
    assert {pod["metadata"]["uid"] for pod in fleet.pods()} == before
    assert len(fleet.pods(role="serving")) == 2
    assert fleet.get("deployment", "chat-h100")["metadata"]["generation"] == generation
