"""Deletes never hang: there is no finalizer, the garbage collector does the work (B36)."""

import json

from e2e.cluster import Cluster
from e2e.operator_process import OperatorProcess
from tests.controlplane.fleet import Fleet, pool, service

KINDS = "inferenceservices,deployments,services,pdb,pods"


def everything(fleet: Fleet) -> list[str]:
    return [item["metadata"]["name"] for item in json.loads(fleet.kubectl("get", KINDS, "-o", "json"))["items"]]


def test_a_deleted_service_leaves_nothing(fleet: Fleet) -> None:
    fleet.apply(service())
    fleet.until_ready()
    assert "finalizers" not in fleet.get("inferenceservice", "chat")["metadata"]
    fleet.kubectl("delete", "inferenceservice", "chat", "--timeout=10s")
    fleet.until("everything being gone", lambda: everything(fleet) == [], seconds=60)


def test_a_service_goes_while_the_operator_is_down(fleet: Fleet, operator: OperatorProcess) -> None:
    fleet.apply(service())
    fleet.until_ready()
    operator.stop()
    try:
        fleet.kubectl("delete", "inferenceservice", "chat", "--timeout=10s")
        fleet.until("everything being gone", lambda: everything(fleet) == [], seconds=60)
    finally:
        operator.start()


def test_a_namespace_goes_with_its_services(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    cluster.kubectl("delete", "namespace", fleet.namespace, "--wait=false")

    def is_gone() -> bool:
        return cluster.kubectl("get", "namespace", fleet.namespace, "--ignore-not-found") == ""

    fleet.until("the namespace being gone", is_gone, seconds=90)
    cluster.kubectl("create", "namespace", fleet.namespace)


def test_a_service_made_anew_under_its_old_name_gets_its_old_names(fleet: Fleet) -> None:
    fleet.apply(service())
    fleet.until_ready()
    old = fleet.get("deployment", "chat-h100")["metadata"]["uid"]
    fleet.kubectl("delete", "inferenceservice", "chat")
    fleet.apply(service())
    fleet.until_ready(seconds=60)
    (deployment,) = fleet.children("chat", "deployments")
    assert deployment["metadata"]["name"] == "chat-h100"
    assert deployment["metadata"]["uid"] != old
