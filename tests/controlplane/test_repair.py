"""Children say what the spec says, whoever edits them; and nothing is written when nothing changed (B20, B22, B39)."""

import json
from typing import Any

import pytest

from e2e.cluster import Cluster
from e2e.operator_process import USER, OperatorProcess
from tests.controlplane.fleet import Fleet, Json, pool, service

CHILDREN = [("deployment", "chat-h100"), ("pdb", "chat-h100"), ("service", "chat"), ("service", "chat-engines")]


def image(fleet: Fleet) -> Any:
    return fleet.get("deployment", "chat-h100")["spec"]["template"]["spec"]["containers"][0]["image"]


def versions(fleet: Fleet) -> Json:
    found = {f"{kind}/{name}": fleet.get(kind, name)["metadata"]["resourceVersion"] for kind, name in CHILDREN}
    return found | {"chat": fleet.get("inferenceservice", "chat")["metadata"]["resourceVersion"]}


@pytest.mark.parametrize(("kind", "name"), CHILDREN)
def test_a_deleted_child_comes_back(fleet: Fleet, kind: str, name: str) -> None:
    fleet.apply(service())
    fleet.until_ready()
    uid = fleet.get(kind, name)["metadata"]["uid"]
    fleet.kubectl("delete", kind, name, "--wait=false")

    def is_back() -> bool:
        return fleet.exists(kind, name) and fleet.get(kind, name)["metadata"]["uid"] != uid

    fleet.until(f"{kind} {name} being back", is_back, seconds=10)
    fleet.until_ready()


def test_hand_edits_are_put_back(fleet: Fleet) -> None:
    fleet.apply(service())
    fleet.until_ready()
    locked = image(fleet)
    fleet.kubectl("set", "image", "deployment/chat-h100", "engine=evil:1")
    fleet.until("the image being put back", lambda: image(fleet) == locked, seconds=10)

    def replicas() -> Any:
        return fleet.get("deployment", "chat-h100")["spec"]["replicas"]

    fleet.kubectl("scale", "deployment/chat-h100", "--replicas=7")
    fleet.until("the replicas being put back", lambda: replicas() == 3, seconds=10)

    def selected_role() -> Any:
        return fleet.get("service", "chat")["spec"]["selector"]["inferencefleet.io/role"]

    patch = json.dumps({"spec": {"selector": {"inferencefleet.io/role": "warm"}}})
    fleet.kubectl("patch", "service", "chat", "--type=merge", "-p", patch)
    fleet.until("the selector being put back", lambda: selected_role() == "serving", seconds=10)

    def manager() -> Any:
        return fleet.get("pdb", "chat-h100")["metadata"]["labels"].get("app.kubernetes.io/managed-by")

    fleet.kubectl("label", "pdb", "chat-h100", "app.kubernetes.io/managed-by-")
    fleet.until("the label being put back", manager, seconds=10)


def test_at_rest_and_over_a_restart_nothing_is_written_and_no_pod_rolls(
    fleet: Fleet, operator: OperatorProcess, cluster: Cluster
) -> None:
    fleet.apply(service("chat", pool(), engine=engine_with_quantities()))
    fleet.until_ready()
    settled = fleet.until("two equal looks", lambda: equal_looks(fleet), seconds=30)
    pods = {pod["metadata"]["uid"] for pod in fleet.pods()}
    writes = count_writes(cluster, fleet.namespace)
    operator.restart()
    fleet.kubectl("annotate", "inferenceservice", "chat", "looked-at=yes")
    fleet.kubectl("apply", "-f", "-", stdin=json.dumps(service("witness", pool(serving=1))))
    fleet.until_ready("witness")
    after = versions(fleet)
    assert {k: v for k, v in after.items() if k != "chat"} == {k: v for k, v in settled.items() if k != "chat"}
    assert count_writes(cluster, fleet.namespace) == writes
    assert {pod["metadata"]["uid"] for pod in fleet.pods()} == pods


def test_a_restart_by_hand_rolls_once_and_its_stamp_survives_a_change_of_replicas(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    fleet.kubectl("rollout", "restart", "deployment/chat-h100")
    fleet.kubectl("rollout", "status", "deployment/chat-h100", "--timeout=90s")
    before = fleet.get("deployment", "chat-h100")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in before["metadata"]["annotations"]
    fleet.patch("chat", {"pools": [pool(serving=2)]})
    fleet.until_ready()
    assert fleet.get("deployment", "chat-h100")["spec"]["template"] == before


def test_ready_is_never_said_of_a_generation_that_is_not_reached(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=2)))
    fleet.until_ready()
    fleet.patch("chat", {"engine": {"maxNumSeqs": 16}})

    def reached() -> bool:
        status = fleet.status()
        ready = next(c for c in status["conditions"] if c["type"] == "Ready")
        if ready["status"] != "True" or ready["observedGeneration"] != status["generation"]:
            return False
        deployment = fleet.get("deployment", "chat-h100")
        assert deployment["status"].get("updatedReplicas") == deployment["spec"]["replicas"]
        arguments = [pod["spec"]["containers"][0]["args"] for pod in fleet.pods(role="serving")]
        assert [args[args.index("--max-num-seqs") + 1] for args in arguments] == ["16", "16"]
        return True

    fleet.until("Ready for the new generation", reached, seconds=90)


def engine_with_quantities() -> Json:
    engine: Json = service()["spec"]["engine"]
    return engine | {"resources": {"cpu": "1000m", "memory": "2048Mi"}, "extraArgs": [], "enablePrefixCaching": True}


def equal_looks(fleet: Fleet) -> Json | None:
    first = versions(fleet)
    fleet.until("a while passing", lambda: fleet.until_ready())
    return first if versions(fleet) == first else None


def count_writes(cluster: Cluster, namespace: str) -> int:
    """Writes of the operator to this test's service and its children."""
    return sum(
        event["objectRef"].get("namespace") == namespace and event["objectRef"].get("name", "").startswith("chat")
        for event in cluster.audit_events(user=USER)
    )
