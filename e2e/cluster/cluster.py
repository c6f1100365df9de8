"""One local cluster, as tests, the demo and the command line see it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from e2e.cluster import controlplane, credentials, kwok, nodes
from e2e.cluster.api import Api, ApiError
from e2e.cluster.binaries import CLUSTER, ensure, from_wheel
from e2e.cluster.errors import ClusterError, wait_for
from e2e.cluster.paths import cluster_dir
from e2e.cluster.processes import Processes


def to_stderr(text: str) -> None:
    """Report progress where it does not mix with what a command prints for other programs."""
    print(text, file=sys.stderr, flush=True)


class Cluster:
    """A running cluster. As a context manager it goes down at the end, unless it was detached."""

    def __init__(self, state: Path, processes: Processes, facts: dict[str, Any]) -> None:
        self.name = state.name
        self.state = state
        self.processes = processes
        self.facts = facts
        self.server: str = facts["server"]
        self.admin_token: str = facts["adminToken"]
        self.kubeconfig = Path(facts["kubeconfig"])
        self.ca_file = Path(facts["caFile"])
        self.node_grace_seconds: int = facts["nodeGraceSeconds"]
        self.api = Api(self.server, self.ca_file, self.admin_token)

    @classmethod
    def up(
        cls,
        *,
        name: str,
        nodes: Mapping[str, int] = nodes.DEFAULT_FLEET,
        audit: bool = False,
        node_grace_seconds: int | None = None,
        load_seconds: float = 2,
        apiserver_args: Sequence[str] = (),
        controller_manager_args: Sequence[str] = (),
        report: Callable[[str], None] = to_stderr,
    ) -> Self:
        """Start a cluster that lives until `stop`, or until this process ends however it ends.

        `node_grace_seconds` is how long a node may be silent before it counts as lost: 12, or 40 for large fleets,
        where the many heartbeats would cost more than they tell.
        """
        grace = node_grace_seconds or (12 if sum(nodes.values()) <= 50 else 40)
        binaries = ensure(CLUSTER, report)
        started = time.monotonic()
        state = cluster_dir(name)
        processes = Processes.launch(state)
        try:
            options = controlplane.Options(audit, grace, apiserver_args, controller_manager_args)
            plane = controlplane.ControlPlane(state, binaries, options)
            report(f"starting the control plane of {name} at {plane.server}")
            plane.start(processes)
            facts = {
                "server": plane.server,
                "adminToken": plane.tokens[credentials.ADMIN],
                "kubeconfig": str(plane.kubeconfig(credentials.ADMIN)),
                "caFile": str(plane.ca_file),
                "nodeGraceSeconds": grace,
                "controllerManager": [str(part) for part in plane.controller_manager()],
            }
            cluster = cls(state, processes, facts)
            cluster.start_nodes(binaries["kwok"], plane.kubeconfig("kwok"), nodes, load_seconds, report)
            credentials.write_private(state / "cluster.json", json.dumps(facts))
        except BaseException:
            processes.down()
            raise
        report(f"{name} is up after {time.monotonic() - started:.1f} s")
        return cluster

    @classmethod
    def attach(cls, name: str) -> Self:
        """Use a cluster that somebody else started; leaving the context manager only hangs up."""
        state = cluster_dir(name)
        processes = Processes.connect(state)
        try:
            facts = json.loads((state / "cluster.json").read_text())
        except FileNotFoundError:
            processes.close()
            raise ClusterError(f"{name} is still starting") from None
        cluster = cls(state, processes, facts)
        cluster._owned = False
        return cluster

    _owned = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._owned:
            self.stop()
        else:
            self.api.close()
            self.processes.close()

    def stop(self) -> None:
        """End every process of this cluster and remove its folder."""
        self.api.close()
        self.processes.down()

    def detach(self) -> None:
        """Leave the cluster running after this process; `python -m e2e.cluster down` ends it."""
        self.processes.detach()
        self._owned = False

    def start_nodes(
        self,
        binary: Path,
        kubeconfig: Path,
        counts: Mapping[str, int],
        load_seconds: float,
        report: Callable[[str], None],
    ) -> None:
        """Let kwok run the GPU nodes of a cluster that has none yet, and wait until all are Ready."""
        stages = self.state / "stages.yaml"
        stages.write_text(kwok.stages(load_seconds))
        self.processes.start("kwok", kwok.command(binary, kubeconfig, stages, self.node_grace_seconds))
        total = sum(counts.values())
        report(f"adding {total} GPU nodes: " + ", ".join(f"{n} x {product}" for product, n in counts.items()))
        for node in nodes.fleet(counts):
            self.api.request("POST", "/api/v1/nodes", node)
        self.processes.wait_for(
            f"readiness of {total} nodes",
            lambda: kwok.nodes_ready(self.api) >= total,
            process="kwok",
            seconds=60 + total / 2,
        )

    def environment(self) -> dict[str, str]:
        """Give the environment in which kubectl, helm and the operator talk to this cluster."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *args: str, stdin: str | None = None, timeout: float = 60) -> str:
        """Run kubectl as the administrator and give what it printed; its complaint becomes the error."""
        done = subprocess.run(
            [from_wheel("kubectl"), *args],
            input=stdin,
            text=True,
            capture_output=True,
            timeout=timeout,
            env=self.environment(),
            check=False,
        )
        if done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Mint a token for a ServiceAccount and write a kubeconfig, so that a program runs under exactly its RBAC."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        answer = self.api.request("POST", path, {"spec": {"expirationSeconds": 24 * 3600}})
        token: str = answer["status"]["token"]
        text = credentials.kubeconfig(self.server, self.ca_file, f"{namespace}-{name}", token, namespace)
        return credentials.write_private(self.state / f"{namespace}.{name}.kubeconfig", text)

    def stop_node(self, name: str, *, wait: bool = True) -> None:
        """Cut a node's power; by default return when the cluster has noticed."""
        kwok.switch_off(self.api, name)
        if wait:
            self._wait_for_node(name, ready=False)

    def start_node(self, name: str, *, wait: bool = True) -> None:
        """Bring a stopped node back; by default return when it is Ready."""
        kwok.switch_on(self.api, name, self.node_grace_seconds)
        if wait:
            self._wait_for_node(name, ready=True)

    def _wait_for_node(self, name: str, *, ready: bool) -> None:
        wait_for(
            f"{name} becoming {'Ready' if ready else 'NotReady'}",
            lambda: kwok.node_ready(self.api.request("GET", f"/api/v1/nodes/{name}")) is ready,
            seconds=self.node_grace_seconds * 2 + 30,
        )

    def pause_apiserver(self) -> None:
        """Freeze the API server: connections stay open and nothing answers.

        The controller manager is ended with it. In production it exits when it cannot renew its leadership; one that
        lived through the outage would afterwards take every node for lost.
        """
        self.processes.stop(controlplane.CONTROLLERS)
        self.processes.signal(controlplane.APISERVER, signal.SIGSTOP)

    def resume_apiserver(self) -> None:
        """Let the API server go on, and start a fresh controller manager."""
        self.processes.signal(controlplane.APISERVER, signal.SIGCONT)
        self.processes.start(controlplane.CONTROLLERS, self.facts["controllerManager"])
        wait_for("an answer of kube-apiserver", self._answers, seconds=60)

    def _answers(self) -> bool:
        try:
            return bool(self.api.request("GET", "/readyz") == "ok")
        except (OSError, ApiError):
            return False

    def audit_events(self, *, user: str | None = None) -> Iterator[dict[str, Any]]:
        """Give every write the API server answered so far, in order; needs `audit=True`.

        `user` is the full name, `system:serviceaccount:NAMESPACE:NAME` for a ServiceAccount.
        """
        with (self.state / "audit.log").open() as log:
            for line in log:
                if line.endswith("\n"):
                    event = json.loads(line)
                    if user is None or event["user"]["username"] == user:
                        yield event
