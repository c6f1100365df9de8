"""The main job on a real control plane: a service becomes a fleet, and stays one."""

from e2e.cluster import Cluster
from inference_fleet.api import labels
from tests.controlplane.fleet import A100, H100, Fleet, Json, pool, service


def uids(pods: list[Json]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}


def test_a_service_becomes_a_deployment_per_gpu_type_with_serving_and_warm_pods(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool("h100", H100, serving=3), pool("a100", A100, serving=1)))
    status = fleet.until_ready()

    pools = {p["name"]: p for p in status["pools"]}
    assert {name: (p["serving"], p["warm"]) for name, p in pools.items()} == {"h100": (3, 1), "a100": (1, 1)}
    assert pools["h100"]["engine"]["maxModelLen"] == 4096
    assert status["totals"] | {"lock": ""} == {"serving": "4/4", "warm": "2/2", "loading": 0, "gpus": 6, "lock": ""}

    deployments = {d["metadata"]["name"]: d for d in fleet.children("chat", "deployments")}
    assert {name: d["spec"]["replicas"] for name, d in deployments.items()} == {"chat-h100": 4, "chat-a100": 2}
    node_selector = deployments["chat-a100"]["spec"]["template"]["spec"]["nodeSelector"]
    assert node_selector["nvidia.com/gpu.product"] == A100
    budgets = {b["metadata"]["name"]: b["spec"]["minAvailable"] for b in fleet.children("chat", "pdb")}
    assert budgets == {"chat-h100": 2, "chat-a100": 0}

    def endpoints_are_the_serving_pods() -> bool:
        serving = uids(fleet.pods(role="serving"))
        return len(serving) == 4 and fleet.endpoints("chat") == serving == fleet.endpoints("chat-engines")

    fleet.until("the endpoints being the serving pods", endpoints_are_the_serving_pods)


def test_a_lost_serving_pod_is_replaced_from_standby_at_once_and_the_standby_refilled(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=2)))
    fleet.until_ready()
    (standby,) = fleet.pods(role="warm")
    lost = fleet.pods(role="serving")[0]
    fleet.kubectl("delete", "pod", lost["metadata"]["name"], "--wait=false")

    def promoted() -> bool:
        return standby["metadata"]["uid"] in uids(fleet.pods(role="serving"))

    fleet.until("the standby serving", promoted, seconds=3)
    assert len(fleet.pods(role="serving")) <= 2
    fleet.until_ready()
    assert len(fleet.pods(role="warm")) == 1
    promoted_pod = fleet.get("pod", standby["metadata"]["name"])
    assert promoted_pod["status"]["containerStatuses"][0]["restartCount"] == 0
    assert labels.POD_DELETION_COST not in promoted_pod["metadata"].get("annotations", {})


def test_a_pod_that_is_no_longer_ready_is_replaced_too(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    (standby,) = fleet.pods(role="warm")
    (serving,) = fleet.pods(role="serving")
    node = serving["spec"]["nodeName"]
    assert node != standby["spec"]["nodeName"], "pods of a pool are spread over nodes"
    cluster.stop_node(node)
    try:
        fleet.until("the standby serving", lambda: uids(fleet.pods(role="serving")) == uids([standby]), seconds=10)
    finally:
        cluster.start_node(node)
    fleet.until_ready()


def test_scaling_and_roles_never_touch_the_template(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    before = fleet.get("deployment", "chat-h100")
    pods = uids(fleet.pods())
    fleet.patch("chat", {"pools": [pool(serving=3)]})
    fleet.until_ready()
    after = fleet.get("deployment", "chat-h100")
    assert after["spec"]["replicas"] == 4
    assert after["spec"]["template"] == before["spec"]["template"]
    assert pods <= uids(fleet.pods())
    fleet.patch("chat", {"pools": [pool(serving=1)]})
    fleet.until_ready()
    assert fleet.get("deployment", "chat-h100")["spec"]["template"] == before["spec"]["template"]


def test_a_pool_that_leaves_the_spec_leaves_nothing(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool("h100"), pool("a100", A100)))
    fleet.until_ready()
    fleet.patch("chat", {"pools": [pool("h100")]})
    fleet.until("the pool being gone", lambda: not fleet.exists("deployment", "chat-a100"))
    fleet.until("the budget being gone", lambda: not fleet.exists("pdb", "chat-a100"))
    fleet.until("its pods being gone", lambda: {p["metadata"]["labels"][labels.POOL] for p in fleet.pods()} == {"h100"})
    assert [p["name"] for p in fleet.until_ready()["pools"]] == ["h100"]


def test_no_standby_where_the_warm_pool_is_off(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=2), warmPool={"percent": 0}))
    fleet.until_ready()
    assert fleet.get("deployment", "chat-h100")["spec"]["replicas"] == 2


def test_a_pool_of_none_keeps_no_gpu_and_is_ready(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=0)))
    fleet.until_ready()
    assert fleet.get("deployment", "chat-h100")["spec"]["replicas"] == 0
