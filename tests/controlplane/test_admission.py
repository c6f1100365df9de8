"""What the real API server does with the definition: admits, refuses with a sentence, explains, and lets go."""

import copy
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import Cluster
from e2e.cluster.api import MERGE_PATCH, ApiError
from tests.unit.api import examples
from tests.unit.api.examples import Example

ROOT = Path(__file__).parents[2]
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/inferenceservices.inferencefleet.io"
SECONDS = 30


def until(what: str, holds: Callable[[], bool]) -> None:
    """Ask until it holds; the API server takes a changed schema into use a moment after it accepted it."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {SECONDS} s: {what}"
        time.sleep(0.1)


def path(namespace: str, name: str = "", subresource: str = "") -> str:
    """Where services live."""
    parts = [f"/apis/inferencefleet.io/v1alpha1/namespaces/{namespace}/inferenceservices", name, subresource]
    return "/".join(part for part in parts if part)


def service(spec: dict[str, Any], name: str = "x") -> dict[str, Any]:
    """A service as users send it."""
    return {
        "apiVersion": "inferencefleet.io/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": name},
        "spec": spec,
    }


class Server:
    """The API server with the definition installed."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace

    def create(self, spec: dict[str, Any], name: str = "x", *, dry: bool = False) -> dict[str, Any]:
        """Create as kubectl does: unknown fields are an error."""
        query = "?fieldValidation=Strict" + ("&dryRun=All" if dry else "")
        answer: dict[str, Any] = self.cluster.api.request("POST", path(self.namespace) + query, service(spec, name))
        return answer

    def get(self, name: str = "x") -> dict[str, Any]:
        """The live object."""
        answer: dict[str, Any] = self.cluster.api.request("GET", path(self.namespace, name))
        return answer

    def patch(self, body: dict[str, Any], name: str = "x", subresource: str = "") -> None:
        """Merge-patch the object or its status."""
        self.cluster.api.request("PATCH", path(self.namespace, name, subresource), body, MERGE_PATCH)

    def refusal(self, spec: dict[str, Any], name: str = "x") -> str:
        """What the server says against a spec; empty if it is admitted."""
        try:
            self.create(spec, name, dry=True)
        except ApiError as error:
            assert error.status in (400, 422), error
            return str(error)
        return ""


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> str:
    """Install the definition as a newcomer does: a plain, client-side apply."""
    printed = cluster.kubectl("apply", "-f", str(ROOT / "crds"))
    cluster.kubectl("wait", "--for=condition=Established", "crd/inferenceservices.inferencefleet.io")
    until("the kind is served", lambda: "ifs" in cluster.kubectl("api-resources", "--api-group=inferencefleet.io"))
    return printed


@pytest.fixture
def server(cluster: Cluster, installed: str, namespace: str) -> Server:
    """A fresh namespace behind the installed definition."""
    return Server(cluster, namespace)


def test_a_plain_apply_is_enough_and_a_second_one_changes_nothing(cluster: Cluster, installed: str) -> None:
    assert "customresourcedefinition.apiextensions.k8s.io/inferenceservices.inferencefleet.io" in installed
    assert "unchanged" in cluster.kubectl("apply", "-f", str(ROOT / "crds"))
    assert cluster.api.request("GET", CRD)["status"]["acceptedNames"]["shortNames"] == ["ifs"]


@pytest.mark.parametrize("example", examples.ADMITTED, ids=str)
def test_a_good_spec_is_admitted(server: Server, example: Example) -> None:
    assert server.refusal(example.spec) == ""


@pytest.mark.parametrize(
    "example", examples.REFUSED_BY_RULE + examples.REFUSED_BY_SCHEMA + examples.LOCKED_FLAGS, ids=str
)
def test_a_bad_spec_is_refused_with_the_sentence(server: Server, example: Example) -> None:
    refusal = server.refusal(example.spec)
    assert refusal
    assert example.says in refusal


@pytest.mark.parametrize("example", examples.TWICE, ids=str)
def test_items_given_twice_are_refused(server: Server, example: Example) -> None:
    assert f"spec.{example.path}[1]: Duplicate value" in server.refusal(example.spec)


def test_the_refusal_of_a_flag_names_the_item_and_the_field(server: Server) -> None:
    refusal = server.refusal(Example("engine.extraArgs", ["--seed", "1", "--gpu-memory-util", "0.99"]).spec)
    assert 'spec.engine.extraArgs[2]: Invalid value: "--gpu-memory-util": ' in refusal
    assert "locked and follows from engine.gpuMemoryUtilization" in refusal


@pytest.mark.parametrize("name", ["a" * 63, "a" * 253, "qwen2.5-0.5b", "7b-chat", "engines"])
def test_every_object_name_is_admitted(server: Server, name: str) -> None:
    assert server.refusal(examples.SMALLEST, name) == ""


def test_a_name_that_would_take_the_engines_service_is_refused(server: Server) -> None:
    assert "metadata.name may not end in -engines" in server.refusal(examples.SMALLEST, "chat-engines")


def test_bounds_upside_down_are_refused_on_a_live_object(server: Server) -> None:
    server.create(Example("pools.0.replicas", {"min": 4, "max": 4}).spec)
    patch = {"spec": {"pools": [examples.pool(replicas={"min": 50, "max": 10})]}}
    with pytest.raises(ApiError, match="may not be above"):
        server.patch(patch)
    live = server.get()
    assert live["spec"]["pools"][0]["replicas"] == {"min": 4, "max": 4}
    assert live["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    "spec",
    [examples.SMALLEST, examples.LARGEST, Example("engine.resources", {"cpu": 8, "memory": 68719476736}).spec],
    ids=["smallest", "largest", "whole numbers"],
)
def test_the_live_spec_is_the_spec_in_git(server: Server, spec: dict[str, Any]) -> None:
    manifest = json.dumps(service(spec))
    apply = ("-n", server.namespace, "-f", "-")
    server.cluster.kubectl("apply", *apply, stdin=manifest)
    assert "unchanged" in server.cluster.kubectl("apply", *apply, stdin=manifest)
    assert server.cluster.kubectl("diff", *apply, stdin=manifest) == ""
    server.cluster.kubectl("apply", "--server-side", "--force-conflicts", *apply, stdin=manifest)
    live = server.get()
    assert live["spec"] == spec
    assert live["metadata"]["generation"] == 1


def test_a_new_object_says_that_nothing_was_observed_yet(server: Server) -> None:
    server.create(examples.SMALLEST)
    assert server.get()["status"] == {"observedGeneration": -1}


def test_columns_show_the_state_of_the_fleet(server: Server) -> None:
    server.create(examples.SMALLEST)
    ready = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "Loading",
        "message": "1 of 4 replicas is loading.",
        "observedGeneration": 1,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    totals = {"serving": "3/4", "warm": "1/1", "loading": 1, "gpus": 10, "floor": 2, "lock": "0123456789"}
    server.patch({"status": {"observedGeneration": 1, "conditions": [ready], "totals": totals}}, subresource="status")
    narrow, wide = (
        [line.split() for line in server.cluster.kubectl("get", "ifs", "-n", server.namespace, *option).splitlines()]
        for option in ([], ["-o", "wide"])
    )
    assert narrow[0] == ["NAME", "READY", "SERVING", "WARM", "LOADING", "REASON", "AGE"]
    assert narrow[1][:6] == ["x", "Unknown", "3/4", "1/1", "1", "Loading"]
    assert wide[0][-3:] == ["GPUS", "FLOOR", "LOCK"]
    assert wide[1][-3:] == ["10", "2", "0123456789"]


@pytest.mark.parametrize(
    "field", ["spec", "spec.pools.replicas", "spec.engine.extraArgs", "spec.cache.type", "status.pools.engine"]
)
def test_kubectl_explains(server: Server, field: str) -> None:
    explained = server.cluster.kubectl("explain", f"inferenceservice.{field}")
    assert "DESCRIPTION:" in explained
    assert "<no description>" not in explained


def fully_open(definition: dict[str, Any]) -> dict[str, Any]:
    """The definition as an older, looser release might have had it."""
    loose = copy.deepcopy(definition)
    schema = loose["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema.pop("x-kubernetes-validations")
    schema["properties"]["spec"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return loose


@pytest.fixture
def stored_under_a_looser_schema(server: Server) -> Server:
    """`old-engines`: an object that today's definition refuses for its name, its types, its values and its flags."""
    strict = yaml.safe_load((ROOT / "crds" / "inferencefleet.io_inferenceservices.yaml").read_text())
    spec = copy.deepcopy(examples.SMALLEST)
    spec["pools"] = [
        examples.pool("a", replicas={"min": 50, "max": 10}, gpu="NVIDIA H100", engine={"extraArgs": ["-tp=1", "a\n"]}),
        examples.pool("a", oldField=True),
    ]
    spec |= {"drainSeconds": "soon", "warmPool": {"percent": 130}}
    try:
        server.cluster.api.request("PATCH", CRD, {"spec": fully_open(strict)["spec"]}, MERGE_PATCH)
        until("a loose schema", lambda: server.refusal(spec, "old-engines") == "")
        server.create(spec, "old-engines")
        server.patch({"metadata": {"finalizers": ["example.com/hold"]}}, "old-engines")
    finally:
        server.cluster.api.request("PATCH", CRD, {"spec": strict["spec"]}, MERGE_PATCH)
    until("today's schema", lambda: server.refusal(spec, "other-engines") != "")
    return server


def test_an_object_stored_under_a_looser_schema_can_be_reported_on_and_deleted(
    stored_under_a_looser_schema: Server,
) -> None:
    server, name = stored_under_a_looser_schema, "old-engines"
    server.patch({"status": {"observedGeneration": 1}}, name, "status")
    assert server.get(name)["status"]["observedGeneration"] == 1
    server.patch({"metadata": {"labels": {"team": "a"}}}, name)

    server.cluster.api.request("DELETE", path(server.namespace, name))
    assert "deletionTimestamp" in server.get(name)["metadata"]
    server.patch({"metadata": {"finalizers": None}}, name)
    with pytest.raises(ApiError) as gone:
        server.get(name)
    assert gone.value.status == 404


def test_an_object_stored_under_a_looser_schema_can_be_put_right(stored_under_a_looser_schema: Server) -> None:
    server, name = stored_under_a_looser_schema, "old-engines"
    with pytest.raises(ApiError, match="may not be above"):
        server.patch({"spec": {"drainSeconds": 60, "pools": [examples.pool(replicas={"min": 5, "max": 1})]}}, name)
    server.patch({"spec": {**examples.SMALLEST, "drainSeconds": 60, "warmPool": None}}, name)
    assert server.get(name)["spec"] == {**examples.SMALLEST, "drainSeconds": 60}
    server.patch({"metadata": {"finalizers": None}}, name)


def test_the_samples_are_admitted(server: Server) -> None:
    created = server.cluster.kubectl(
        "create", "--dry-run=server", "-n", server.namespace, "-f", str(ROOT / "manifests" / "samples")
    )
    assert len(created.splitlines()) == 3
