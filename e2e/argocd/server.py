"""Argo CD as tests see it: its processes beside a local cluster, and the applications it syncs."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from e2e.argocd.build import Program, cached
from e2e.argocd.objects import NAMESPACE, installation
from e2e.argocd.repository import Repository
from e2e.cluster import Cluster
from e2e.cluster.errors import wait_for
from e2e.cluster.paths import free_ports, is_free

APPLICATION = Path(__file__).parents[2] / "manifests" / "argocd" / "application.yaml"
_REDIS, _GIT, _REPO_SERVER, _CONTROLLER = "redis", "git-daemon", "argocd-repo-server", "argocd-application-controller"
_REFRESH = "argocd.argoproj.io/refresh"
"""Annotation that asks for a comparison; Argo CD takes it away when that is done."""


def missing() -> str | None:
    """What a run lacks on this machine, as the reason to skip it."""
    if cached() is None:
        return "Argo CD is not built: `python -m e2e.argocd` builds it once (about 10 minutes)"
    for program, package in (("redis-server", "redis-server"), ("git", "git")):
        if shutil.which(program) is None:
            return f"{program} is not installed: apt-get install {package}"
    return None


@dataclass(frozen=True)
class ApplicationState:
    """What Argo CD says of an application, and of the InferenceServices in it."""

    sync: str
    health: str
    revision: str
    services: dict[str, tuple[str, str]]
    """Health and its message, by name."""
    syncs: int
    """How often it was synced so far."""


class ArgoCD:
    """A running Argo CD."""

    def __init__(self, cluster: Cluster, program: Program, folder: Path) -> None:
        self._cluster = cluster
        self._program = program
        self._folder = folder
        self._redis, self._git, self._repo, *self._metrics = free_ports(5)

    @classmethod
    @contextmanager
    def up(cls, cluster: Cluster) -> Iterator[Self]:
        """Run Argo CD under the cluster's supervisor."""
        program = cached()
        assert program is not None, missing()
        server = cls(cluster, program, cluster.state / "argocd")
        server._install()
        try:
            server._start()
            yield server
        finally:
            running = {process.name for process in cluster.processes.list()}
            for name in (_CONTROLLER, _REPO_SERVER, _GIT, _REDIS):
                if name in running:
                    cluster.processes.stop(name, seconds=2)

    def repository(self, name: str) -> Repository:
        """Make an empty repository that Argo CD can fetch."""
        return Repository(self._folder / "repositories" / name, f"git://127.0.0.1:{self._git}/{name}")

    def sync(self, name: str, repository: Repository, namespace: str) -> None:
        """Apply the example application of the manifests with the addresses of this place."""
        application = yaml.safe_load(APPLICATION.read_text())
        application["metadata"]["name"] = name
        application["metadata"]["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
        application["spec"]["source"]["repoURL"] = repository.url
        application["spec"]["destination"] = {"server": self._cluster.server, "namespace": namespace}
        self._cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump(application))

    def refresh(self, name: str) -> None:
        """Make Argo CD compare with Git now, as the web hook of a Git server does; return when it has."""
        self._cluster.kubectl("annotate", "application", name, "-n", NAMESPACE, f"{_REFRESH}=normal")
        wait_for(
            f"the comparison of {name}",
            lambda: _REFRESH not in self._application(name)["metadata"].get("annotations", {}),
            seconds=30,
            every=0.2,
            on_timeout=self.log,
        )

    def delete(self, name: str) -> None:
        """Delete an application with all it brought, and wait for that."""
        self._cluster.kubectl("delete", "application", name, "-n", NAMESPACE, "--wait", "--timeout=60s", timeout=70)

    def state(self, name: str) -> ApplicationState:
        """Read what Argo CD says now."""
        status = self._application(name).get("status", {})
        services = {
            resource["name"]: (resource["health"]["status"], resource["health"].get("message", ""))
            for resource in status.get("resources", [])
            if resource["kind"] == "InferenceService" and "health" in resource
        }
        return ApplicationState(
            sync=status.get("sync", {}).get("status", ""),
            health=status.get("health", {}).get("status", ""),
            revision=status.get("sync", {}).get("revision", ""),
            services=services,
            syncs=len(status.get("history", [])),
        )

    def _application(self, name: str) -> dict[str, Any]:
        text = self._cluster.kubectl("get", "application", name, "-n", NAMESPACE, "-o", "json")
        found: dict[str, Any] = json.loads(text)
        return found

    def log(self) -> str:
        """The last words of the controller, for a failing test."""
        return self._cluster.processes.tail(_CONTROLLER, 5)

    def _install(self) -> None:
        for crd in self._program.crds:
            self._cluster.kubectl("apply", "--server-side", "-f", str(crd))
        # Not `kubectl wait`: it fails on a definition so new that it has no conditions.
        served = ("api-resources", "--api-group=argoproj.io", "--output=name")
        wait_for("Argo CD's kinds", lambda: "appprojects" in self._cluster.kubectl(*served), seconds=30)
        objects = installation(self._cluster.server, self._cluster.admin_token, self._cluster.ca_file)
        self._cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects))

    def _start(self) -> None:
        for name in ("repositories", "home", "gnupg", "plugins"):
            (self._folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        base = self._folder / "repositories"
        self._run(_REDIS, ["redis-server", "--port", self._redis, "--bind", "127.0.0.1", "--save", ""], self._redis)
        git = ["git", "daemon", "--export-all", "--reuseaddr", "--listen=127.0.0.1"]
        self._run(_GIT, [*git, f"--port={self._git}", f"--base-path={base}", str(base)], self._git)
        repo_server = ["--disable-tls", "--address", "127.0.0.1", "--port", self._repo, "--redis", self._redis_address]
        metrics = ["--metrics-address", "127.0.0.1", "--metrics-port", self._metrics[0]]
        self._run(_REPO_SERVER, [self._program.binary, *repo_server, *metrics], self._repo)
        controller = ["--repo-server", f"127.0.0.1:{self._repo}", "--repo-server-plaintext", "--app-resync", "10"]
        # The health of each resource, message included, is otherwise kept in Redis only.
        controller.append("--persist-resource-health")
        place = ["--namespace", NAMESPACE, "--redis", self._redis_address, "--metrics-port", self._metrics[1]]
        self._run(_CONTROLLER, [self._program.binary, *controller, *place], self._metrics[1])

    @property
    def _redis_address(self) -> str:
        return f"127.0.0.1:{self._redis}"

    def _run(self, name: str, command: list[Any], port: int) -> None:
        environment = {
            "ARGOCD_BINARY_NAME": name,
            "ARGOCD_GPG_ENABLED": "false",
            "ARGOCD_GNUPGHOME": str(self._folder / "gnupg"),
            "ARGOCD_PLUGINSOCKFILEPATH": str(self._folder / "plugins"),
            "HOME": str(self._folder / "home"),
            "TMPDIR": str(self._folder / "home"),
            "KUBECONFIG": str(self._cluster.kubeconfig),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
        }
        self._cluster.processes.start(name, [str(part) for part in command], environment)
        self._cluster.processes.wait_for(f"{name} on port {port}", lambda: not is_free(port), process=name, seconds=60)
