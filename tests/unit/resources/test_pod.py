"""What every pod has, whatever its service: isolation, placement, and nothing that a neighbour can poison."""

from typing import Any

import pytest

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.resources.inputs import RenderSettings
from tests.unit.resources.fleets import engine_of, environment, fleet, locked, pod_of, spec

TAINTS = [
    {"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"},
    {"key": "team", "value": "a", "effect": "NoExecute", "tolerationSeconds": 0},
]


def containers(built: Any) -> list[Any]:
    pod = pod_of(built)
    return [*pod.get("initContainers", []), *pod["containers"]]


def test_a_service_called_vllm_does_not_poison_the_engine() -> None:
    built = fleet(name="vllm")
    assert pod_of(built)["enableServiceLinks"] is False
    assert "VLLM_PORT" not in environment(engine_of(built))


def test_a_restricted_namespace_admits_the_pod() -> None:
    built = fleet(spec(cache={"type": "Ephemeral"}))
    pod = pod_of(built)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == pod["securityContext"]["fsGroup"] == 10001
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(built):
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
    kinds = {next(key for key in volume if key != "name") for volume in pod["volumes"]}
    assert kinds <= {"emptyDir", "secret", "configMap", "persistentVolumeClaim", "ephemeral"}


def test_every_container_states_its_resources() -> None:
    for container in containers(fleet()):
        assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
        assert "memory" in container["resources"]["limits"]
        assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_all_that_an_engine_writes_goes_to_the_writable_volume() -> None:
    engine = engine_of(fleet())
    variables = environment(engine)
    folders = ("HOME", "HF_HOME", "VLLM_CACHE_ROOT", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    writable = {mount["mountPath"] for mount in engine["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/tmp", "/dev/shm"}  # noqa: S108
    assert all(variables[name].startswith("/tmp/") for name in folders)  # noqa: S108
    assert variables["HF_HUB_OFFLINE"] == variables["VLLM_NO_USAGE_STATS"] == variables["DO_NOT_TRACK"] == "1"


def test_arguments_reach_the_engine_byte_for_byte() -> None:
    extra = ("--override-generation-config", '{"stop": "$(HOME) $5"}')
    args = engine_of(fleet(engine=locked(extra_args=extra)))["args"]
    assert args[-2:] == ["--override-generation-config", '{"stop": "$$(HOME) $$5"}']


def test_the_engine_serves_the_mounted_model_under_its_name() -> None:
    engine = engine_of(fleet())
    assert engine["command"] == ["vllm", "serve"]
    assert engine["args"][0] == "/model"
    assert engine["args"][engine["args"].index("--served-model-name") + 1] == "tiny"


def test_every_pod_goes_where_its_pool_says() -> None:
    built = fleet(
        spec(
            pool={
                "tolerations": TAINTS,
                "nodeSelector": {"zone": "y", "nvidia.com/gpu.product": "NVIDIA-H200"},
                "priorityClassName": "inference",
            },
            imagePullSecrets=["reg"],
        )
    )
    pod = pod_of(built)
    assert pod["tolerations"] == TAINTS
    assert pod["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-L4", "zone": "y"}
    assert pod["priorityClassName"] == "inference"
    assert pod["imagePullSecrets"] == [{"name": "reg"}]


def test_another_vendors_gpus_are_found_by_their_own_label() -> None:
    product = "AMD_Instinct_MI300X_OAM"
    built = fleet(spec(pool={"gpu": product}), gpu_type=GpuCatalog.builtin().find(product))
    assert pod_of(built)["nodeSelector"] == {"amd.com/gpu.product-name": product}


def test_pull_secrets_of_the_installation_come_after_those_of_the_service_once_each() -> None:
    settings = RenderSettings(operator_image="example.org/op:1", image_pull_secrets=("mirror", "reg"))
    built = fleet(spec(imagePullSecrets=["reg"]), settings=settings)
    assert pod_of(built)["imagePullSecrets"] == [{"name": "reg"}, {"name": "mirror"}]


def test_pods_of_a_pool_spread_over_nodes_but_are_not_held_back_by_it() -> None:
    (spread,) = pod_of(fleet())["topologySpreadConstraints"]
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == ("kubernetes.io/hostname", "ScheduleAnyway")


@pytest.mark.parametrize("field", ["tolerations", "imagePullSecrets", "priorityClassName"])
def test_what_is_left_out_is_not_rendered_empty(field: str) -> None:
    assert field not in pod_of(fleet())


def test_an_empty_toleration_value_is_left_out_as_the_api_server_leaves_it_out() -> None:
    pod = pod_of(fleet(spec(pool={"tolerations": [{"key": "spot", "operator": "Equal", "value": ""}]})))
    assert pod["tolerations"] == [{"key": "spot", "operator": "Equal"}]
