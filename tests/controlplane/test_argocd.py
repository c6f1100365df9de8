"""What a GitOps user sees: a real Argo CD syncs InferenceServices from Git while the operator runs them."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from e2e.argocd.build import cached
from e2e.argocd.repository import Repository
from e2e.argocd.server import ApplicationState, ArgoCD, missing
from e2e.cluster import Cluster
from e2e.cluster.errors import wait_for
from e2e.manifests import HEALTH_KEY, ROOT
from e2e.operator_process import OperatorProcess, install
from inference_fleet.api import labels
from tests.controlplane.fleet import Fleet, Json, service

pytestmark = [
    pytest.mark.argocd,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
    pytest.mark.timeout(300),
]

L4 = "NVIDIA-L4"
TEAM = "team-a"
LOAD_SECONDS = 12
"""Longer than Argo CD needs to look: else a service would be Healthy before anybody saw it load."""


def chat(serving: int = 2, gpu: str = L4) -> Json:
    return service("chat", {"name": "l4", "gpu": gpu, "replicas": {"min": serving, "max": 8}})


def every_field() -> Json:
    """Values that the API server or a tool might write in another way than Git has them."""
    resources = {"cpu": "1000m", "memory": "4096Mi"}
    engine = {
        "image": "vllm/vllm-openai:v0.32.0",
        "maxModelLen": 4096,
        "maxNumSeqs": 8,
        "gpuMemoryUtilization": 0.9,
        "enablePrefixCaching": True,
        "kvCacheDtype": "auto",
        "extraArgs": [],
        "resources": resources,
    }
    pool = {
        "name": "l4",
        "gpu": L4,
        "tensorParallelSize": 1,
        "replicas": {"min": 1, "max": 2},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    }
    return service(
        "full",
        pool,
        engine=engine,
        workload={"inputTokens": 1000, "outputTokens": 250},
        warmPool={"percent": 25, "min": 1},
        disruption={"maxUnavailable": 1},
        cache={"type": "Node"},
    )


class GitOps:
    """A team: its repository, the application that syncs it, its namespace."""

    def __init__(self, cluster: Cluster, argocd: ArgoCD, repository: Repository) -> None:
        self.cluster = cluster
        self.fleet = Fleet(cluster, TEAM)
        self._argocd = argocd
        self._repository = repository
        self._revision = ""
        self._synced = False

    def push(self, *services: Json) -> None:
        files = {f"services/{found['metadata']['name']}.yaml": yaml.safe_dump(found) for found in services}
        self._revision = self._repository.commit(files)
        if self._synced:
            self._argocd.refresh("models")

    def sync(self) -> None:
        self._argocd.sync("models", self._repository, TEAM)
        self._synced = True
        wait_for("the first sync", lambda: self.state().services, seconds=60, on_timeout=self._argocd.log)

    def state(self) -> ApplicationState:
        return self._argocd.state("models")

    def until(self, health: str, *, name: str = "chat", reason: str = "", seconds: float = 60) -> ApplicationState:
        """Wait until the last push is synced and a service has this health."""

        def there() -> ApplicationState | None:
            state = self.state()
            synced = state.sync == "Synced" and state.revision == self._revision
            found, message = state.services.get(name, ("", ""))
            return state if synced and found == health and message.startswith(reason) else None

        return wait_for(
            f"{name} becoming {health} {reason}",
            there,
            seconds=seconds,
            every=0.3,
            on_timeout=lambda: f"{self.state()}\n{self._argocd.log()}",
        )

    def compare(self) -> None:
        self._argocd.refresh("models")

    def foreign_writes(self) -> list[str]:
        """Every write to a service's own content (not its status), by whom."""
        return [
            f"{event['user']['username']} {event['verb']} {event['objectRef']['name']}"
            for event in self.cluster.audit_events()
            if event["objectRef"].get("resource") == labels.PLURAL
            and event["objectRef"].get("namespace") == TEAM
            and "subresource" not in event["objectRef"]
            and event["stage"] == "ResponseComplete"
        ]


@pytest.fixture(scope="module")
def site() -> Iterator[Cluster]:
    name = f"argocd-{os.getpid()}"
    with Cluster.up(name=name, nodes={L4: 2}, audit=True, load_seconds=LOAD_SECONDS) as cluster:
        install(cluster)
        process = OperatorProcess(cluster)
        process.start()
        yield cluster
        process.stop()


@pytest.fixture(scope="module")
def argocd(site: Cluster) -> Iterator[ArgoCD]:
    with ArgoCD.up(site) as server:
        yield server


@pytest.fixture(scope="module")
def repository(argocd: ArgoCD) -> Repository:
    return argocd.repository("models")


@pytest.fixture
def team(site: Cluster, argocd: ArgoCD, repository: Repository) -> Iterator[GitOps]:
    """An application whose namespace comes from its own sync; deleted afterwards with all it brought."""
    found = GitOps(site, argocd, repository)
    found.push(chat())
    found.sync()
    if not found.fleet.exists("pvc", "models"):
        found.fleet.make_claim()
    yield found
    argocd.delete("models")


def test_health_script_on_the_examples_shipped_with_it() -> None:
    """The script alone, run by Argo CD's own interpreter with the standard libraries off."""
    program = cached()
    assert program is not None
    folder = ROOT / "manifests" / "argocd"
    cases = yaml.safe_load((folder / "health_test.yaml").read_text())["tests"]
    assert {Path(case["inputPath"]).name for case in cases} == {path.name for path in (folder / "testdata").iterdir()}
    done = subprocess.run(
        [program.binary, folder / "health.lua", *(folder / case["inputPath"] for case in cases)],
        env={**os.environ, "ARGOCD_BINARY_NAME": "argocd-health"},
        text=True,
        capture_output=True,
        check=True,
    )
    said = [dict(zip(("status", "message"), line.split("\t"), strict=True)) for line in done.stdout.splitlines()]
    assert said == [case["healthStatus"] for case in cases]
    assert HEALTH_KEY.endswith(f"{labels.GROUP}_{labels.KIND}")


def test_a_service_is_progressing_while_it_loads_and_healthy_when_it_serves(team: GitOps) -> None:
    team.until("Progressing", reason="Loading")
    state = team.until("Healthy")
    assert state.health == "Healthy"
    assert list(state.services) == ["chat"], "children belong to the operator, not to the application"
    assert team.fleet.get(labels.KIND, "chat")["spec"] == chat()["spec"]

    team.push(chat(serving=6))  # more than the standby can stand in for
    team.until("Progressing", reason="Loading")
    team.until("Healthy")


def test_an_impossible_service_is_degraded_until_git_is_right_again(team: GitOps) -> None:
    team.push(chat(gpu="NVIDIA-H900"))
    state = team.until("Degraded", reason="UnknownGPU")
    assert state.health == "Degraded"
    team.push(chat())
    team.until("Healthy")


def test_scaling_and_promotions_leave_nothing_to_sync(team: GitOps) -> None:
    before = team.until("Healthy")
    writes = team.foreign_writes()
    assert writes, "the audit log shows at least the sync"
    (standby,) = team.fleet.pods(role="warm")
    team.fleet.kubectl("delete", "pod", team.fleet.pods(role="serving")[0]["metadata"]["name"], "--wait=false")

    seen: set[str] = set()

    def refilled() -> bool:
        """A look at everything that happens on the way, and every look must find the application in sync."""
        seen.add(team.state().sync)
        promoted = standby["metadata"]["uid"] in {pod["metadata"]["uid"] for pod in team.fleet.pods(role="serving")}
        conditions = {c["type"]: c["status"] for c in team.fleet.get(labels.KIND, "chat")["status"]["conditions"]}
        return promoted and conditions.get("Ready") == conditions.get("WarmPoolFull") == "True"

    wait_for("the standby serving and being refilled", refilled, seconds=LOAD_SECONDS + 30, every=0.3)
    team.until("Healthy")
    assert seen == {"Synced"}
    assert team.state().syncs == before.syncs
    assert team.foreign_writes() == writes


def test_what_git_holds_is_what_the_cluster_holds(team: GitOps) -> None:
    team.push(chat(), every_field())
    state = team.until("Healthy", name="full")
    assert team.fleet.get(labels.KIND, "full")["spec"] == every_field()["spec"]
    writes = team.foreign_writes()
    team.compare()
    team.compare()
    assert team.state().sync == "Synced"
    assert team.state().syncs == state.syncs
    assert team.foreign_writes() == writes


def test_a_service_taken_out_of_git_goes_with_its_children(team: GitOps) -> None:
    team.push(chat(), every_field())  # an application that would become empty is not pruned
    team.until("Healthy")
    team.push(every_field())
    wait_for("the service being pruned", lambda: not team.fleet.exists(labels.KIND, "chat"), seconds=60, every=0.5)
    wait_for("its children following", lambda: not team.fleet.children("chat", "all"), seconds=60, every=0.5)
