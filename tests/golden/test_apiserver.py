"""The golden manifests before a real API server: strict fields, no drift once stored, Pod Security admission."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster import Cluster
from e2e.cluster.api import ApiError
from inference_fleet.reconciler.drift import in_sync
from inference_fleet.resources.build import build_all
from tests.golden.fleets import FOLDER, INPUTS, load_fleet

pytestmark = pytest.mark.controlplane

PATHS = {
    "Service": "/api/v1/namespaces/{}/services/{}",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{}",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments/{}",
}


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)
def test_every_object_is_accepted_and_stored_as_it_was_meant(path: Path, cluster: Cluster, namespace: str) -> None:
    for manifest in build_all(load_fleet(path)):
        manifest["metadata"]["namespace"] = namespace
        target = PATHS[manifest["kind"]].format(namespace, manifest["metadata"]["name"])
        query = "fieldManager=inference-fleet&fieldValidation=Strict&dryRun=All"
        stored = cluster.api.request("PATCH", f"{target}?{query}", manifest, "application/apply-patch+yaml")
        assert in_sync(manifest, stored)


@pytest.fixture
def restricted(cluster: Cluster, namespace: str) -> Iterator[str]:
    level = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    cluster.api.request("PATCH", f"/api/v1/namespaces/{namespace}", level, "application/merge-patch+json")
    deadline = time.monotonic() + 30
    while True:
        try:
            cluster.api.request("GET", f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
            break
        except ApiError:
            assert time.monotonic() < deadline, "no default ServiceAccount"
            time.sleep(0.1)
    yield namespace


def create_pod(cluster: Cluster, namespace: str, template: Any) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "engine"}
    cluster.api.request("POST", f"/api/v1/namespaces/{namespace}/pods?dryRun=All", pod)


def templates(name: str) -> list[Any]:
    manifests = build_all(load_fleet(FOLDER / "input" / f"{name}.yaml"))
    return [manifest["spec"]["template"] for manifest in manifests if manifest["kind"] == "Deployment"]


@pytest.mark.parametrize("name", ["restricted", "claim", "eight-gpus"])
def test_a_restricted_namespace_admits_the_pods(name: str, cluster: Cluster, restricted: str) -> None:
    for template in templates(name):
        create_pod(cluster, restricted, template)


def test_a_cache_on_the_node_is_all_that_a_restricted_namespace_objects_to(cluster: Cluster, restricted: str) -> None:
    with pytest.raises(ApiError, match="restricted volume types") as refusal:
        create_pod(cluster, restricted, templates("smallest")[0])
    assert "hostPath" in str(refusal.value)
    assert not [word for word in ("capabilities", "seccomp", "NonRoot", "Escalation") if word in str(refusal.value)]
