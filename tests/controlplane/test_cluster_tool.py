"""The cluster tool against the real thing: what the other control-plane tests stand on."""

import json
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster import Cluster
from e2e.cluster.errors import wait_for
from e2e.cluster.kwok import FAIL, FAIL_MESSAGE, LOAD_SECONDS

L4 = "NVIDIA-L4"


def deployment(name: str, *, replicas: int, gpus: int = 1, image: str = "engine:1", load: str = "1") -> dict[str, Any]:
    container = {"name": "engine", "image": image, "resources": {"limits": {"nvidia.com/gpu": str(gpus)}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": {LOAD_SECONDS: load}},
                "spec": {
                    "nodeSelector": {"nvidia.com/gpu.product": L4},
                    "initContainers": [{"name": "pull", "image": "pull:1"}],
                    "containers": [container],
                },
            },
        },
    }


def create(cluster: Cluster, namespace: str, body: dict[str, Any]) -> None:
    cluster.api.request("POST", f"/apis/apps/v1/namespaces/{namespace}/deployments", body)


def pods(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cluster.api.request("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
    return found


def condition(pod: dict[str, Any], kind: str) -> dict[str, Any]:
    return next((c for c in pod["status"].get("conditions", []) if c["type"] == kind), {"status": "False"})


def ready_pods(cluster: Cluster, namespace: str, count: int) -> list[dict[str, Any]]:
    def check() -> list[dict[str, Any]] | None:
        found = [p for p in pods(cluster, namespace) if condition(p, "Ready")["status"] == "True"]
        return found if len(found) == count else None

    return wait_for(f"{count} Ready pods", check, seconds=60)


def waiting(pod: dict[str, Any]) -> dict[str, Any]:
    state: dict[str, Any] = pod["status"].get("containerStatuses", [{}])[0].get("state", {}).get("waiting", {})
    return state


def test_the_fleet_is_ready_and_has_its_gpus(cluster: Cluster) -> None:
    nodes = cluster.api.request("GET", "/api/v1/nodes")["items"]
    products = [n["metadata"]["labels"]["nvidia.com/gpu.product"] for n in nodes]
    assert {p: products.count(p) for p in products} == {
        "NVIDIA-H100-80GB-HBM3": 4,
        "NVIDIA-A100-SXM4-80GB": 4,
        "NVIDIA-L40S": 4,
        "NVIDIA-L4": 4,
    }
    assert {n["status"]["allocatable"]["nvidia.com/gpu"] for n in nodes} == {"8"}
    assert all(condition(n, "Ready")["status"] == "True" for n in nodes)


def test_a_pod_is_ready_after_its_load_time_even_when_it_is_relabelled_meanwhile(
    cluster: Cluster, namespace: str
) -> None:
    create(cluster, namespace, deployment("engine", replicas=3, load="3"))
    running = wait_for(
        "three running pods",
        lambda: [p for p in pods(cluster, namespace) if p["status"]["phase"] == "Running"][2:] and "yes",
        seconds=30,
    )
    assert running
    cluster.kubectl("label", "pods", "-n", namespace, "-l", "app=engine", "role=warm")
    for pod in ready_pods(cluster, namespace, 3):
        started = datetime.fromisoformat(pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"])
        loaded = datetime.fromisoformat(condition(pod, "Ready")["lastTransitionTime"])
        assert 3 <= (loaded - started).total_seconds() < 3 + 3
        assert pod["metadata"]["labels"]["role"] == "warm"
        assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


def test_failures_are_simulated_and_healed_by_annotation(cluster: Cluster, namespace: str) -> None:
    create(cluster, namespace, deployment("crash", replicas=1))
    create(cluster, namespace, deployment("pull", replicas=1, image="registry.example/does-not-exist:1"))
    [healthy] = ready_pods(cluster, namespace, 1)
    name = healthy["metadata"]["name"]
    cluster.kubectl("annotate", "pod", "-n", namespace, name, f"{FAIL}=CrashLoopBackOff", f"{FAIL_MESSAGE}=no memory")

    def both() -> dict[str, dict[str, Any]] | None:
        found = {p["metadata"]["labels"]["app"]: p for p in pods(cluster, namespace)}
        reasons = {app: waiting(p).get("reason") for app, p in found.items()}
        return found if reasons == {"crash": "CrashLoopBackOff", "pull": "ErrImagePull"} else None

    crashed = wait_for("a crash loop and a failed pull", both, seconds=30)["crash"]
    last = crashed["status"]["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["message"]) == (1, "no memory")
    assert condition(crashed, "Ready")["status"] == "False"

    cluster.kubectl("annotate", "pod", "-n", namespace, name, f"{FAIL}-")
    [healed] = ready_pods(cluster, namespace, 1)
    assert healed["status"]["containerStatuses"][0]["restartCount"] == 1


def test_a_stopped_node_takes_its_pods_down_and_comes_back(cluster: Cluster, namespace: str) -> None:
    create(cluster, namespace, deployment("engine", replicas=4, gpus=4))
    before = ready_pods(cluster, namespace, 4)
    node = before[0]["spec"]["nodeName"]
    there = sum(p["spec"]["nodeName"] == node for p in before)
    cluster.stop_node(node)
    try:
        left = ready_pods(cluster, namespace, 4 - there)
        assert node not in {p["spec"]["nodeName"] for p in left}
        taints = cluster.api.request("GET", f"/api/v1/nodes/{node}")["spec"]["taints"]
        assert "node.kubernetes.io/unreachable" in {t["key"] for t in taints}
    finally:
        cluster.start_node(node)
    ready_pods(cluster, namespace, 4)


def test_a_service_account_has_its_own_rights_and_its_own_audit_trail(cluster: Cluster, namespace: str) -> None:
    cluster.kubectl("create", "serviceaccount", "-n", namespace, "writer")
    cluster.kubectl("create", "role", "-n", namespace, "writer", "--verb=create", "--resource=configmaps")
    cluster.kubectl(
        "create", "rolebinding", "-n", namespace, "writer", "--role=writer", f"--serviceaccount={namespace}:writer"
    )
    kubeconfig = str(cluster.service_account_kubeconfig(namespace, "writer"))
    cluster.kubectl("--kubeconfig", kubeconfig, "create", "configmap", "mine")
    with pytest.raises(Exception, match="cannot list resource"):
        cluster.kubectl("--kubeconfig", kubeconfig, "get", "configmaps")
    writes = list(cluster.audit_events(user=f"system:serviceaccount:{namespace}:writer"))
    assert [(w["verb"], w["objectRef"]["name"]) for w in writes] == [("create", "mine")]


def test_a_frozen_api_server_answers_nothing_and_goes_on_afterwards(cluster: Cluster, namespace: str) -> None:
    cluster.pause_apiserver()
    try:
        with pytest.raises(Exception, match=r"(?i)timeout|deadline|timed out"):
            cluster.kubectl("get", "nodes", "--request-timeout=1s")
    finally:
        cluster.resume_apiserver()
    create(cluster, namespace, deployment("engine", replicas=1))
    ready_pods(cluster, namespace, 1)


def descendants(folder: Path) -> set[int]:
    """Every process whose command line names this folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except (FileNotFoundError, ProcessLookupError):
                continue
            if str(folder).encode() in command and state != "Z":
                found.add(int(entry.name))
    return found


def test_clusters_live_side_by_side_and_a_killed_up_leaves_nothing(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "inference-fleet" / "clusters" / "second"
    command = [sys.executable, "-m", "e2e.cluster", "up", "--name", "second", "--nodes", f"{L4}=1"]

    starting = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with starting:
        wait_for("the second API server's start", lambda: len(descendants(folder)) >= 3, seconds=60)
        starting.send_signal(signal.SIGKILL)
    wait_for("the end of every process", lambda: not descendants(folder) and not folder.exists(), seconds=20)

    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=90).stdout
    assert printed == f"export KUBECONFIG={folder}/admin.kubeconfig\n"
    with Cluster.attach("second") as second:
        assert second.server != cluster.server
        assert second.kubectl("get", "nodes", "-o", "name") == "node/l4-0\n"
        assert len(json.loads(cluster.kubectl("get", "nodes", "-o", "json"))["items"]) == 16
        status = subprocess.run([sys.executable, "-m", "e2e.cluster", "status", "--name", "second"], check=True)
        assert status.returncode == 0
    assert descendants(folder)
    subprocess.run([sys.executable, "-m", "e2e.cluster", "down", "--name", "second"], check=True)
    assert not descendants(folder)
    assert not folder.exists()
