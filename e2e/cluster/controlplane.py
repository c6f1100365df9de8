"""The command lines of the four real components, and waiting until each one works."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from e2e.cluster import credentials
from e2e.cluster.api import Api, ApiError
from e2e.cluster.paths import free_ports
from e2e.cluster.processes import Processes

ETCD, APISERVER, CONTROLLERS, SCHEDULER = "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"
START_SECONDS = 90
SERVICE_NETWORK = "10.96.0.0/16"

# Writes only: a test asks who wrote what, and reads would bury the answer.
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
- level: None
"""


@dataclass(frozen=True)
class Options:
    """What may differ between two control planes."""

    audit: bool = False
    node_grace_seconds: int = 12
    apiserver_args: Sequence[str] = ()
    controller_manager_args: Sequence[str] = ()


@dataclass(frozen=True)
class ControlPlane:
    """A control plane in a state folder: the files are written on construction, `start` brings it up."""

    state: Path
    binaries: Mapping[str, Path]
    options: Options
    tokens: dict[str, str] = field(default_factory=credentials.make_tokens)
    ports: list[int] = field(default_factory=lambda: free_ports(3))

    def __post_init__(self) -> None:
        credentials.write_private(self.state / "tokens.csv", credentials.token_file(self.tokens))
        credentials.write_private(self.state / "service-accounts.key", credentials.signing_key())
        (self.state / "audit-policy.yaml").write_text(AUDIT_POLICY)

    @property
    def server(self) -> str:
        """The API server's address."""
        return f"https://127.0.0.1:{self.ports[2]}"

    @property
    def ca_file(self) -> Path:
        """The API server signs its own serving certificate and puts the authority's into the same file."""
        return self.state / "certificates" / "apiserver.crt"

    def kubeconfig(self, user: str) -> Path:
        """Write the kubeconfig of a user from the token file."""
        text = credentials.kubeconfig(self.server, self.ca_file, user, self.tokens[user])
        return credentials.write_private(self.state / f"{user.replace(':', '-')}.kubeconfig", text)

    def api(self) -> Api:
        """Talk to the API server as the administrator."""
        return Api(self.server, self.ca_file, self.tokens[credentials.ADMIN])

    def start(self, processes: Processes) -> None:
        """Bring up all four, each when what it needs is there."""
        processes.start(ETCD, self.etcd())
        processes.start(APISERVER, self.apiserver())
        processes.wait_for("readiness of kube-apiserver", self.ready, process=APISERVER, seconds=START_SECONDS)
        processes.start(CONTROLLERS, self.controller_manager())
        processes.start(SCHEDULER, self.scheduler())
        processes.wait_for(
            "the first work of kube-controller-manager",
            self.has_default_service_account,
            process=CONTROLLERS,
            seconds=START_SECONDS,
        )

    def ready(self) -> bool:
        """Tell whether the API server answers and says it is ready."""
        try:
            api = self.api()
        except OSError:  # the serving certificate is not written yet
            return False
        try:
            return bool(api.request("GET", "/readyz") == "ok")
        except (OSError, ApiError):
            return False
        finally:
            api.close()

    def has_default_service_account(self) -> Any:
        """Tell whether the service account controller has come round: pods in `default` are refused before."""
        api = self.api()
        try:
            return api.request("GET", "/api/v1/namespaces/default/serviceaccounts/default")
        except ApiError:
            return None
        finally:
            api.close()

    def etcd(self) -> list[str | Path]:
        """Run a store whose data is thrown away with the cluster, so nothing is synced to disk."""
        client, peer = (f"http://127.0.0.1:{port}" for port in self.ports[:2])
        return [
            self.binaries[ETCD],
            f"--data-dir={self.state / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--quota-backend-bytes=4294967296",
            "--log-level=warn",
        ]

    def apiserver(self) -> list[str | Path]:
        """Run the API server with upstream's default admission (Pod Security included) and RBAC."""
        key = self.state / "service-accounts.key"
        audit = [
            f"--audit-policy-file={self.state / 'audit-policy.yaml'}",
            f"--audit-log-path={self.state / 'audit.log'}",
        ]
        return [
            self.binaries[APISERVER],
            f"--etcd-servers=http://127.0.0.1:{self.ports[0]}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.ports[2]}",
            f"--cert-dir={self.state / 'certificates'}",
            "--endpoint-reconciler-type=none",  # a loopback address may not become the endpoint of a Service
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self.state / 'tokens.csv'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--profiling=false",
            *(audit if self.options.audit else []),
            *self.options.apiserver_args,
        ]

    def controller_manager(self) -> list[str | Path]:
        """Run all default controllers.

        No leader election: it is alone. Its node grace period is far below upstream's 50 s, so that a test or a demo
        sees a lost node soon.
        """
        return [
            self.binaries[CONTROLLERS],
            f"--kubeconfig={self.kubeconfig('system:kube-controller-manager')}",
            "--leader-elect=false",
            "--secure-port=0",
            "--use-service-account-credentials",
            f"--service-account-private-key-file={self.state / 'service-accounts.key'}",
            f"--root-ca-file={self.ca_file}",
            "--node-monitor-period=1s",
            f"--node-monitor-grace-period={self.options.node_grace_seconds}s",
            "--pvclaimbinder-sync-period=1s",  # a claim that comes before its volume waits this long; upstream: 15 s
            "--kube-api-qps=200",
            "--kube-api-burst=400",
            *self.options.controller_manager_args,
        ]

    def scheduler(self) -> list[str | Path]:
        """Run the default scheduler, with a client limit that does not slow down a thousand pods."""
        return [
            self.binaries[SCHEDULER],
            f"--kubeconfig={self.kubeconfig('system:kube-scheduler')}",
            "--leader-elect=false",
            "--secure-port=0",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
        ]
