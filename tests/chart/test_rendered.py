"""What holds of the chart whatever the values are, and what single values do."""

import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.manifests import CHART, CRD_CHART, KUBE_VERSION, NAMESPACE, ROOT
from inference_fleet.settings import Settings
from tests.chart.conftest import Render, Template, containers, environment, kind, pod_specs
from tests.chart.values import ALL, EVERYTHING, GPU

every_set = pytest.mark.parametrize("values", ALL.values(), ids=ALL.keys())


@pytest.mark.parametrize("chart", [CHART, CRD_CHART], ids=lambda chart: chart.name)
def test_helm_lint_finds_nothing(helm: Path, chart: Path) -> None:
    done = subprocess.run([helm, "lint", "--strict", "--quiet", chart], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@every_set
def test_two_renderings_are_equal_to_the_byte(template: Template, values: dict[str, Any]) -> None:
    first = template(values)
    assert first.returncode == 0, first.stderr
    assert first.stdout == template(values).stdout


def _empty(node: Any, path: str) -> list[str]:
    if node in ({}, [], None):
        return [path]
    if isinstance(node, dict):
        return [found for key, value in node.items() for found in _empty(value, f"{path}.{key}")]
    if isinstance(node, list):
        return [found for index, value in enumerate(node) for found in _empty(value, f"{path}[{index}]")]
    return []


@every_set
def test_nothing_empty_is_rendered(render: Render, values: dict[str, Any]) -> None:
    """The API server drops empty maps and lists, and Argo CD then shows a difference for ever."""
    ours = [document for document in render(values) if document["kind"] != "CustomResourceDefinition"]
    assert [found for document in ours for found in _empty(document, document["kind"])] == []


@every_set
def test_namespaced_objects_say_where_they_belong(render: Render, values: dict[str, Any]) -> None:
    cluster_wide = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}
    for document in render(values):
        assert ("namespace" in document["metadata"]) is (document["kind"] not in cluster_wide), document


@every_set
def test_the_operators_own_objects_are_not_taken_for_children(render: Render, values: dict[str, Any]) -> None:
    for document in render(values):
        for metadata in (document["metadata"], document.get("spec", {}).get("template", {}).get("metadata", {})):
            assert metadata.get("labels", {}).get("app.kubernetes.io/managed-by") != "inference-fleet"


@every_set
def test_the_operator_can_read_what_the_chart_sets(render: Render, values: dict[str, Any]) -> None:
    given = environment(render(values))
    read = Settings.from_environ(given)
    assert {f"INFERENCE_FLEET_{field.upper()}" for field in read.model_fields_set} == set(given)


def test_values_become_settings(render: Render) -> None:
    settings = Settings.from_environ(environment(render(EVERYTHING)))
    assert settings.operator_image == f"mirror.local/x/fleet/operator:1.2.3@sha256:{'a' * 64}"
    assert settings.default_engine_image.startswith("mirror.local/x/vllm/vllm-openai:")
    assert str(settings.cache_host_path) == "/mnt/nvme/models"
    assert settings.image_pull_secrets == ("corp", "reg")
    assert [str(network) for network in settings.allowed_store_networks] == ["169.254.20.0/24", "fd00::/8"]


def test_the_charts_defaults_are_the_operators(render: Render) -> None:
    settings = Settings.from_environ(environment(render()))
    assert settings.operator_image == f"ghcr.io/inference-fleet/operator:{version('inference-fleet')}"
    assert settings == Settings(operator_image=settings.operator_image, lease_namespace=NAMESPACE)


def test_the_gpu_catalogue_is_mounted_where_the_operator_looks(render: Render) -> None:
    objects = render({"gpuCatalog": [GPU]})
    (config_map,) = kind(objects, "ConfigMap")
    assert yaml.safe_load(config_map["data"]["gpus.yaml"]) == {"gpus": [GPU]}
    (pod,) = (spec for spec in pod_specs(objects) if spec["containers"][0]["name"] == "operator")
    (volume,) = (volume for volume in pod["volumes"] if "configMap" in volume)
    assert volume["configMap"]["name"] == config_map["metadata"]["name"]
    (mount,) = (mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == volume["name"])
    assert environment(objects)["INFERENCE_FLEET_GPU_CATALOG"] == f"{mount['mountPath']}/gpus.yaml"


def test_a_changed_gpu_catalogue_restarts_the_operator(render: Render) -> None:
    def annotations(**change: Any) -> dict[str, str]:
        (deployment,) = kind(render({"gpuCatalog": [GPU | change]}), "Deployment")
        found: dict[str, str] = deployment["spec"]["template"]["metadata"]["annotations"]
        return found

    assert annotations() != annotations(memoryGiB=96.0)


def test_registry_pull_secrets_and_tolerations_reach_every_pod(render: Render) -> None:
    pods = pod_specs(render(EVERYTHING))
    assert len(pods) == 2
    for pod in pods:
        assert pod["imagePullSecrets"] == [{"name": "corp"}, {"name": "reg"}]
        for container in containers(pod):
            assert container["image"].startswith("mirror.local/x/fleet/operator:")
        for taint in EVERYTHING["tolerations"]:
            assert taint in pod["tolerations"] or {"operator": "Exists"} in pod["tolerations"]


@every_set
def test_every_container_is_confined(render: Render, values: dict[str, Any]) -> None:
    for pod in pod_specs(render(values)):
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["enableServiceLinks"] is False
        for container in containers(pod):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"]["drop"] == ["ALL"]
            assert container["resources"]["requests"]


def test_only_the_cache_preparation_is_root_and_sees_only_its_directory(render: Render) -> None:
    pods = pod_specs(render())
    roots = [
        (pod, container)
        for pod in pods
        for container in containers(pod)
        if not (container["securityContext"] | pod["securityContext"]).get("runAsNonRoot")
    ]
    ((pod, container),) = roots
    assert container["securityContext"]["capabilities"]["add"] == ["CHOWN", "FOWNER"]
    assert pod["volumes"] == [
        {"name": "cache", "hostPath": {"path": "/var/lib/inference-fleet/models", "type": "DirectoryOrCreate"}}
    ]
    assert pod["automountServiceAccountToken"] is False
    assert [mounting["name"] for mounting in containers(pod) if "volumeMounts" in mounting] == [container["name"]]


def test_the_definition_is_kept_on_uninstall_and_can_be_left_out(render: Render, helm: Path) -> None:
    for crd in kind(render(), "CustomResourceDefinition"):
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert kind(render({"crds": {"enabled": False}}), "CustomResourceDefinition") == []
    command = [str(helm), "template", "crds", str(CRD_CHART), "--kube-version", KUBE_VERSION]
    done = subprocess.run(command, text=True, capture_output=True, check=True)
    alone = [document for document in yaml.safe_load_all(done.stdout) if document]
    assert alone == kind(render(), "CustomResourceDefinition") != []


def test_the_rendered_definition_is_the_one_of_the_repository(render: Render) -> None:
    """Helm reads and writes it anew; no number, text or empty value may be lost on the way."""
    rendered = kind(render(), "CustomResourceDefinition")
    for crd in rendered:
        del crd["metadata"]["annotations"]["helm.sh/resource-policy"]
    source = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "crds").glob("*.yaml"))]
    assert [crd["spec"] for crd in rendered] == [crd["spec"] for crd in source]


def test_a_service_monitor_needs_its_api(render: Render) -> None:
    wanted = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}
    assert kind(render(wanted), "ServiceMonitor") == []
    (monitor,) = kind(render(wanted, "--api-versions", "monitoring.coreos.com/v1"), "ServiceMonitor")
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    assert kind(render({}, "--api-versions", "monitoring.coreos.com/v1"), "ServiceMonitor") == []


def test_services_select_the_operator_only(render: Render) -> None:
    objects = render()
    (service,) = kind(objects, "Service")
    matching = [
        document["kind"]
        for document in objects
        if "template" in document.get("spec", {})
        and service["spec"]["selector"].items() <= document["spec"]["template"]["metadata"]["labels"].items()
    ]
    assert matching == ["Deployment"]
    assert service["metadata"]["namespace"] == NAMESPACE
