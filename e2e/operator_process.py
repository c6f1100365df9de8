"""The operator as its own process beside a local cluster: for tests, the demo and benchmarks."""

import signal
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path

import yaml

from e2e.cluster import Cluster
from e2e.cluster.api import ApiError
from e2e.cluster.errors import wait_for
from e2e.cluster.paths import free_ports

ROOT = Path(__file__).parent.parent
NAMESPACE = "inference-fleet-system"
ACCOUNT = "inference-fleet"
IMAGE = "ghcr.io/inference-fleet/operator:test"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"

_PODS = {"Deployment", "DaemonSet"}
"""The local cluster runs no containers: these would only pretend to be an operator."""


class OperatorProcess:
    """`inference-fleet run` under exactly the rights that the manifests give it. It ends with the cluster."""

    def __init__(self, cluster: Cluster, name: str = "operator", **settings: str) -> None:
        """Settings are INFERENCE_FLEET_* variables without their prefix, in lower case."""
        self.cluster = cluster
        self.name = name
        (self.port,) = free_ports(1)
        self._settings = settings

    def start(self, seconds: float = 60) -> None:
        """Start, and return when the cluster is listed."""
        binary = Path(sys.executable).with_name("inference-fleet")
        self.cluster.processes.start(self.name, [binary, "run"], env=self._environment())
        self.cluster.processes.wait_for(
            "readiness of the operator", lambda: self.answers("readyz"), process=self.name, seconds=seconds
        )

    def stop(self) -> None:
        """SIGTERM, and wait for the end."""
        self.cluster.processes.stop(self.name)

    def kill(self) -> None:
        """End it without a chance to clean up."""
        self.cluster.processes.signal(self.name, signal.SIGKILL)
        self.cluster.processes.stop(self.name)

    def restart(self) -> None:
        """Stop and start."""
        self.stop()
        self.start()

    def answers(self, path: str) -> str | None:
        """What the health port says, None while it does not say 200."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{path}", timeout=5) as answer:
                text: str = answer.read().decode()
                return text
        except OSError:
            return None

    @property
    def pid(self) -> int:
        """The operator's process."""
        return next(process.pid for process in self.cluster.processes.list() if process.name == self.name)

    def log(self) -> str:
        """All that it said."""
        return self.cluster.processes.log_file(self.name).read_text()

    def _environment(self) -> Mapping[str, str]:
        kubeconfig = self.cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT)
        settings = {
            "operator_image": IMAGE,
            "health_port": str(self.port),
            "metrics_port": str(self.port),
            "log_format": "text",
            "allowed_store_networks": "127.0.0.0/8",
            "lease_namespace": NAMESPACE,
        } | self._settings
        variables = {f"INFERENCE_FLEET_{key.upper()}": value for key, value in settings.items()}
        return {"KUBECONFIG": str(kubeconfig), **variables}


def install(cluster: Cluster) -> None:
    """Apply the manifests: resource, namespace, account and rights, without the pods that cannot run here."""
    cluster.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
    manifests = yaml.safe_load_all((ROOT / "manifests" / "install.yaml").read_text())
    documents = [document for document in manifests if document["kind"] not in _PODS]
    cluster.kubectl("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(documents))
    wait_for("the resource being served", lambda: _is_served(cluster), seconds=30)


def _is_served(cluster: Cluster) -> bool:
    try:
        cluster.api.request("GET", "/apis/inferencefleet.io/v1alpha1/inferenceservices")
    except ApiError as error:
        if error.status in (404, 429):  # not known yet; "storage is (re)initializing"
            return False
        raise
    return True
