"""What a person reads in status when a service cannot be as its spec wants it."""

import json

from e2e.cluster import Cluster
from tests.controlplane.fleet import A100, H100, Fleet, pool, service

L4 = "NVIDIA-L4"


def fail_pods(fleet: Fleet, kind: str, message: str) -> None:
    """Let the simulated kubelet fail both pods of the service."""
    pods = fleet.until("two pods to fail", lambda: fleet.pods() if len(fleet.pods()) == 2 else None)
    for pod in pods:
        failure = (f"sim.inferencefleet.io/fail={kind}", f"sim.inferencefleet.io/fail-message={message}")
        fleet.kubectl("annotate", "pod", pod["metadata"]["name"], *failure)


def test_loading_is_unknown_and_not_false(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=1)))
    seen = set()

    def ready() -> bool:
        seen.add(fleet.condition()["status"])
        return "True" in seen

    fleet.until("Ready", ready)
    assert seen <= {None, "Unknown", "True"}


def test_a_fleet_that_finds_no_gpu_says_what_the_scheduler_says(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=1, nodeSelector={"rack": "none"})))
    told = fleet.until_reason("Unschedulable")
    assert told["status"] == "False"
    assert "0/16 nodes are available" in told["message"]
    assert fleet.condition(kind="Stalled")["status"] == "True"


def test_a_crash_loop_shows_the_engines_last_line(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=1)))
    fleet.until_ready()
    fail_pods(fleet, "CrashLoopBackOff", "RuntimeError: CUDA out of memory")
    assert "RuntimeError: CUDA out of memory" in fleet.until_reason("CrashLoop")["message"]


def test_an_image_that_cannot_be_pulled_is_named(fleet: Fleet, cluster: Cluster) -> None:
    fleet.apply(service("chat", pool(serving=1, nodeSelector={"rack": fleet.namespace})))
    fleet.until_reason("Unschedulable")
    fail_pods(fleet, "ErrImagePull", "manifest unknown")
    node = cluster.kubectl("get", "nodes", "-l", f"nvidia.com/gpu.product={H100}", "-o", "name").split()[0]
    cluster.kubectl("label", node, f"rack={fleet.namespace}")
    assert "vllm/vllm-openai:v0.32.0" in fleet.until_reason("ImagePullFailed")["message"]


def test_a_quota_is_told(fleet: Fleet) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "gpus"},
        "spec": {"hard": {"requests.nvidia.com/gpu": "1"}},
    }
    fleet.kubectl("create", "-f", "-", stdin=json.dumps(quota))
    fleet.until("the quota being known", lambda: "hard" in fleet.get("resourcequota", "gpus").get("status", {}))
    fleet.apply(service("chat", pool(serving=2)))
    told = fleet.until_reason("QuotaExceeded")
    assert "exceeded quota: gpus" in told["message"]
    patch = json.dumps({"spec": {"hard": {"requests.nvidia.com/gpu": "8"}}})
    fleet.kubectl("patch", "resourcequota", "gpus", "--type=merge", "-p", patch)
    fleet.until_ready(seconds=90)


def test_a_plan_that_cannot_work_starts_no_pod_and_says_what_would(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool("l4", "NVIDIA-L5", serving=1)))
    told = fleet.until_reason("UnknownGPU")
    assert L4 in told["message"]
    assert fleet.children("chat", "deployments") == []
    assert fleet.condition(kind="Planned")["status"] == "False"


def test_a_spec_that_becomes_impossible_leaves_the_running_fleet_alone(fleet: Fleet) -> None:
    fleet.apply(service("chat", pool(serving=2)))
    fleet.until_ready()
    before = fleet.get("deployment", "chat-h100")["metadata"]["generation"]
    fleet.patch("chat", {"pools": [pool(serving=2, gpu="NVIDIA-H99"), pool("a100", A100, serving=1)]})
    fleet.until_reason("UnknownGPU")
    fleet.until("the sound pool coming up", lambda: fleet.exists("deployment", "chat-a100"))
    assert fleet.get("deployment", "chat-h100")["metadata"]["generation"] == before
    (standby,) = [
        pod for pod in fleet.pods(role="warm") if pod["metadata"]["labels"]["inferencefleet.io/pool"] == "h100"
    ]
    lost = next(p for p in fleet.pods(role="serving") if p["metadata"]["labels"]["inferencefleet.io/pool"] == "h100")
    fleet.kubectl("delete", "pod", lost["metadata"]["name"], "--wait=false")

    def is_promoted() -> bool:
        return standby["metadata"]["name"] in {pod["metadata"]["name"] for pod in fleet.pods(role="serving")}

    fleet.until("the standby of the held pool serving", is_promoted, seconds=10)
    fleet.patch("chat", {"pools": [pool(serving=2), pool("a100", A100, serving=1)]})
    fleet.until_ready()
