"""Installing, upgrading and removing on a real API server.

The cluster is this module's own: what is tried here is the installation of a kind that other tests need to be there.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import Cluster
from e2e.cluster.binaries import ensure
from e2e.cluster.cluster import to_stderr
from e2e.cluster.errors import wait_for
from e2e.manifests import CHART, CRD_CHART, NAMESPACE, ROOT

CRD = "inferenceservices.inferencefleet.io"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:inference-fleet"
SERVICE = {
    "apiVersion": "inferencefleet.io/v1alpha1",
    "kind": "InferenceService",
    "metadata": {"name": "chat", "namespace": "default"},
    "spec": {
        "model": {"name": "tiny", "uri": "pvc://models/tiny"},
        "pools": [{"name": "l4", "gpu": "NVIDIA-L4", "replicas": {"min": 1, "max": 2}}],
    },
}


class Site:
    """A cluster and the programs that install into it."""

    def __init__(self, cluster: Cluster, helm: Path) -> None:
        self.cluster = cluster
        self._helm = helm

    def try_helm(self, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
        command = [str(self._helm), *map(str, arguments)]
        return subprocess.run(
            command, text=True, capture_output=True, check=False, timeout=120, env=self.cluster.environment()
        )

    def helm(self, *arguments: str | Path) -> str:
        done = self.try_helm(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def install(self, *arguments: str | Path, chart: Path = CHART) -> str:
        return self.helm("install", "inference-fleet", chart, "-n", NAMESPACE, "--create-namespace", *arguments)

    def apply(self, *documents: dict[str, Any]) -> str:
        return self.cluster.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(documents))

    def get(self, *arguments: str) -> Any:
        return json.loads(self.cluster.kubectl("get", *arguments, "-o", "json"))

    def may(self, verb: str, resource: str, namespace: str, *, account: str = ACCOUNT) -> bool:
        user = {"user": account, "groups": ["system:serviceaccounts", "system:authenticated"]}
        group, _, name = resource.rpartition("/")
        attributes = {"verb": verb, "resource": name, "group": group, "namespace": namespace}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        self.cluster.api.close()  # the server may have hung up since the last call
        answer = self.cluster.api.request(
            "POST",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            {**review, "spec": {**user, "resourceAttributes": attributes}},
        )
        return bool(answer["status"]["allowed"])

    def clean(self) -> None:
        for release in json.loads(self.helm("list", "-A", "-o", "json")):
            self.helm("uninstall", release["name"], "-n", release["namespace"])
        self.cluster.kubectl("delete", "--ignore-not-found", "crd", CRD)


@pytest.fixture(scope="module")
def own_cluster() -> Iterator[Cluster]:
    with Cluster.up(name=f"install-{os.getpid()}", nodes={"NVIDIA-L4": 2}, load_seconds=0) as running:
        yield running


@pytest.fixture
def site(own_cluster: Cluster) -> Iterator[Site]:
    found = Site(own_cluster, ensure(["helm"], to_stderr)["helm"])
    yield found
    found.clean()


def older_chart(folder: Path) -> Path:
    """The chart of an earlier release, whose resource had no warmPool yet."""
    chart = folder / CHART.name
    shutil.copytree(CHART, chart)
    (file,) = (chart / "files" / "crds").iterdir()
    crd = yaml.safe_load(file.read_text())
    (version,) = crd["spec"]["versions"]
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["warmPool"]
    file.write_text(yaml.safe_dump(crd))
    facts = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump(facts | {"version": "0.0.9", "appVersion": "0.0.9"}))
    return chart


def test_helm_installs_a_running_operator_and_a_served_kind(site: Site) -> None:
    site.install("--wait", "--timeout", "60s")
    deployment = site.get("deployment", "inference-fleet", "-n", NAMESPACE)
    assert deployment["status"]["readyReplicas"] == 2
    daemon_set = site.get("daemonset", "inference-fleet-node-cache", "-n", NAMESPACE)
    assert daemon_set["status"]["numberReady"] == len(site.get("nodes")["items"])
    site.apply(SERVICE)
    assert site.get("ifs", "chat")["spec"] == SERVICE["spec"]


def test_a_restricted_namespace_admits_the_operator(site: Site) -> None:
    metadata = {"name": "restricted", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    site.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    arguments = ("--set", "nodeCache.prepare.enabled=false", "--wait", "--timeout", "60s")
    site.helm("install", "inference-fleet", CHART, "-n", "restricted", *arguments)
    assert site.get("deployment", "inference-fleet", "-n", "restricted")["status"]["readyReplicas"] == 2


def generations(site: Site, manifest: str) -> dict[str, Any]:
    items = site.get("-f", manifest)["items"]
    return {f"{item['kind']}/{item['metadata']['name']}": item["metadata"].get("generation") for item in items}


def test_kubectl_applies_the_same_and_a_second_time_changes_nothing(site: Site) -> None:
    manifest = str(ROOT / "manifests" / "install.yaml")
    site.cluster.kubectl("delete", "--ignore-not-found", "namespace", NAMESPACE)
    try:
        first = site.cluster.kubectl("apply", "-f", manifest).splitlines()
        assert {line.rsplit(" ", 1)[1] for line in first} == {"created"}
        before = generations(site, manifest)
        second = site.cluster.kubectl("apply", "-f", manifest).splitlines()
        # kubectl says "configured" where it sent an empty change; the server's generation says what changed.
        assert generations(site, manifest) == before
        assert len(first) == len(second) == len(list(yaml.safe_load_all(Path(manifest).read_text())))
        site.cluster.kubectl("rollout", "status", "deployment/inference-fleet", "-n", NAMESPACE, "--timeout=60s")
    finally:
        site.cluster.kubectl("delete", "--ignore-not-found", "-f", manifest)


def test_helm_upgrade_alone_brings_new_fields_and_keeps_the_services(site: Site, tmp_path: Path) -> None:
    site.install(chart=older_chart(tmp_path))
    site.apply(SERVICE)
    before = site.get("ifs", "chat")
    spec: dict[str, Any] = {**SERVICE["spec"], "warmPool": {"percent": 50}}  # type: ignore[dict-item]
    newer = SERVICE | {"spec": spec}
    with pytest.raises(Exception, match=r"unknown field .*warmPool"):
        site.apply(newer)
    site.helm("upgrade", "inference-fleet", CHART, "-n", NAMESPACE)
    assert site.get("ifs", "chat") == before

    def accepted() -> bool:
        """The API server takes a moment to serve a changed schema."""
        try:
            site.apply(newer)
        except Exception as error:  # noqa: BLE001
            assert "warmPool" in str(error)
            return False
        return True

    wait_for("the new field", accepted, seconds=20, every=0.5)
    after = site.get("ifs", "chat")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"]["warmPool"] == {"percent": 50}


def test_helm_uninstall_keeps_the_definition_and_the_services(site: Site) -> None:
    site.install()
    site.apply(SERVICE)
    before = site.get("ifs", "chat")
    site.helm("uninstall", "inference-fleet", "-n", NAMESPACE)
    assert site.get("ifs", "chat") == before
    assert site.get("clusterrole,clusterrolebinding", "-l", "app.kubernetes.io/part-of=inference-fleet")["items"] == []
    site.install()
    assert site.get("ifs", "chat") == before


def test_another_release_can_take_the_definition_over(site: Site) -> None:
    site.install()
    site.apply(SERVICE)
    uid = site.get("ifs", "chat")["metadata"]["uid"]
    site.helm("uninstall", "inference-fleet", "-n", NAMESPACE)
    second = ("install", "second", CHART, "-n", NAMESPACE)
    assert "invalid ownership metadata" in site.try_helm(*second).stderr
    site.helm(*second, "--take-ownership")
    assert site.get("ifs", "chat")["metadata"]["uid"] == uid


def test_the_definition_can_be_installed_apart(site: Site) -> None:
    site.helm("install", "crds", CRD_CHART, "-n", NAMESPACE, "--create-namespace")
    site.install("--set", "crds.enabled=false")
    site.apply(SERVICE)
    site.helm("uninstall", "crds", "-n", NAMESPACE)
    assert site.get("ifs", "chat")["kind"] == "InferenceService"


def test_deleting_the_definition_deletes_the_services_at_once(site: Site) -> None:
    """No finalizer: nothing has to run for a deletion to end."""
    site.install()
    site.apply(SERVICE)
    site.helm("uninstall", "inference-fleet", "-n", NAMESPACE)
    site.cluster.kubectl("delete", "crd", CRD, "--wait", "--timeout=30s", timeout=40)


def test_the_operator_may_do_its_work_and_no_more(site: Site) -> None:
    site.install()
    assert site.may("patch", "apps/deployments", "team-a")
    assert site.may("get", "secrets", "team-a")
    for verb, resource in [
        ("list", "secrets"),
        ("watch", "secrets"),
        ("create", "pods"),
        ("delete", "pods"),
        ("update", "inferencefleet.io/inferenceservices"),
        ("patch", "inferencefleet.io/inferenceservices"),
        ("create", "rbac.authorization.k8s.io/rolebindings"),
        ("get", "nodes"),
        ("list", "configmaps"),
    ]:
        assert not site.may(verb, resource, "team-a"), (verb, resource)


def test_listed_namespaces_are_the_only_ones(site: Site) -> None:
    for name in ("team-a", "team-b"):
        site.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    site.install("--set", "watch.namespaces={team-a,team-b}", "--set", "secrets.namespaces={team-a}")
    assert site.may("watch", "inferencefleet.io/inferenceservices", "team-a")
    assert site.may("watch", "inferencefleet.io/inferenceservices", "team-b")
    assert not site.may("watch", "inferencefleet.io/inferenceservices", "default")
    assert not site.may("watch", "inferencefleet.io/inferenceservices", "")
    assert [site.may("get", "secrets", name) for name in ("team-a", "team-b", "default")] == [True, False, False]


@pytest.mark.parametrize(("role", "writes"), [("view", False), ("edit", True), ("admin", True)])
def test_the_clusters_roles_cover_services(site: Site, role: str, writes: bool) -> None:
    site.install()
    account = "system:serviceaccount:default:somebody"
    site.cluster.kubectl(
        "create", "rolebinding", f"r-{role}", f"--clusterrole={role}", "--serviceaccount=default:somebody"
    )
    try:
        service = "inferencefleet.io/inferenceservices"
        wait_for("aggregation", lambda: site.may("list", service, "default", account=account), seconds=20)
        assert site.may("create", service, "default", account=account) is writes
    finally:
        site.cluster.kubectl("delete", "rolebinding", f"r-{role}")
