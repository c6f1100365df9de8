"""What the chart tests share: the Helm binary, and the chart rendered with some values."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster.binaries import ensure
from e2e.cluster.cluster import to_stderr
from e2e.manifests import CHART, KUBE_VERSION, NAMESPACE

Objects = list[dict[str, Any]]
Template = Callable[..., "subprocess.CompletedProcess[str]"]
Render = Callable[..., Objects]


@pytest.fixture(scope="session")
def helm() -> Path:
    return ensure(["helm"], to_stderr)["helm"]


@pytest.fixture
def template(helm: Path, tmp_path: Path) -> Template:
    """Run `helm template` with values, given as a mapping."""

    def run(
        values: dict[str, Any] | None = None, *arguments: str, release: str = "inference-fleet"
    ) -> "subprocess.CompletedProcess[str]":
        file = tmp_path / "values.yaml"
        file.write_text(yaml.safe_dump(values or {}))
        command = [str(helm), "template", release, str(CHART), "-n", NAMESPACE]
        command += ["--kube-version", KUBE_VERSION, "--values", str(file), *arguments]
        return subprocess.run(command, text=True, capture_output=True, check=False, timeout=60)

    return run


@pytest.fixture
def render(template: Template) -> Render:
    """Give the rendered objects; a refusal fails the test with Helm's words."""

    def run(values: dict[str, Any] | None = None, *arguments: str, **options: str) -> Objects:
        done = template(values, *arguments, **options)
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return run


def kind(objects: Objects, name: str) -> Objects:
    return [document for document in objects if document["kind"] == name]


def pod_specs(objects: Objects) -> list[dict[str, Any]]:
    return [document["spec"]["template"]["spec"] for document in objects if "template" in document.get("spec", {})]


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [*pod.get("initContainers", []), *pod["containers"]]
    return found


def environment(objects: Objects) -> dict[str, str]:
    """The operator's environment, as its process would see it."""
    (deployment,) = kind(objects, "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable["value"] for variable in container["env"]}
