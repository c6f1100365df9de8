"""The same simulated GPU nodes on a kind cluster, for machines with Docker.

Not exercised by our own tests, which run where there is no container engine. Unlike the local control plane, kind's
containers outlive a killed tool (`down --on kind` ends them), and there is no audit log and no pause.
"""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from e2e.cluster import credentials
from e2e.cluster.binaries import ensure, from_wheel
from e2e.cluster.cluster import Cluster, to_stderr
from e2e.cluster.errors import ClusterError
from e2e.cluster.nodes import DEFAULT_FLEET
from e2e.cluster.paths import cluster_dir
from e2e.cluster.processes import Processes

NODE_GRACE_SECONDS = 50  # kind keeps upstream's default
ADMIN_SETUP = (
    "create serviceaccount cluster-tool --namespace kube-system",
    "create clusterrolebinding cluster-tool --clusterrole cluster-admin --serviceaccount kube-system:cluster-tool",
)


def kind(*args: str) -> None:
    """Run kind with its own progress on the terminal, or say in one sentence what is missing."""
    missing = [tool for tool in ("docker", "kind") if shutil.which(tool) is None]
    if missing:
        raise ClusterError(f"CLUSTER=kind needs docker and kind on the PATH; not found: {', '.join(missing)}")
    if subprocess.run(["kind", *args], check=False).returncode != 0:
        raise ClusterError(f"kind {' '.join(args)} failed; its own message stands above")


def up(
    *,
    name: str,
    nodes: Mapping[str, int] = DEFAULT_FLEET,
    load_seconds: float = 2,
    report: Callable[[str], None] = to_stderr,
) -> Cluster:
    """Create a kind cluster and let kwok, running here, add the GPU nodes to it."""
    state = cluster_dir(name)
    kind("version")
    kwok = ensure(["kwok"], report)["kwok"]
    processes = Processes.launch(state)
    try:
        kubeconfig = state / "kind.kubeconfig"
        kind("create", "cluster", "--name", name, "--kubeconfig", str(kubeconfig), "--wait", "180s")
        try:
            facts = _facts(state, kubeconfig)
            cluster = Cluster(state, processes, facts)
            cluster.start_nodes(kwok, kubeconfig, nodes, load_seconds, report)
            credentials.write_private(state / "cluster.json", json.dumps(facts))
        except BaseException:
            kind("delete", "cluster", "--name", name)  # one that `create` refused to make may be somebody else's
            raise
    except BaseException:
        processes.down()
        raise
    return cluster


def down(name: str) -> None:
    """End kwok and delete the kind cluster."""
    try:
        Processes.connect(cluster_dir(name)).down()
    finally:
        kind("delete", "cluster", "--name", name)


def _facts(state: Path, kubeconfig: Path) -> dict[str, object]:
    def kubectl(command: str) -> str:
        arguments = [str(from_wheel("kubectl")), "--kubeconfig", str(kubeconfig), *command.split()]
        printed: str = subprocess.run(arguments, check=True, capture_output=True, text=True).stdout
        return printed.strip()

    for command in ADMIN_SETUP:
        kubectl(command)
    shown = json.loads(kubectl("config view --raw -o json"))["clusters"][0]["cluster"]
    ca_file = state / "ca.crt"
    ca_file.write_bytes(base64.b64decode(shown["certificate-authority-data"]))
    token = kubectl("create token cluster-tool --namespace kube-system --duration 24h")
    text = credentials.kubeconfig(shown["server"], ca_file, credentials.ADMIN, token)
    return {
        "server": shown["server"],
        "adminToken": token,
        "kubeconfig": str(credentials.write_private(state / "admin.kubeconfig", text)),
        "caFile": str(ca_file),
        "nodeGraceSeconds": NODE_GRACE_SECONDS,
    }
