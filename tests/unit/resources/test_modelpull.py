"""The init container that fetches the model."""

from typing import Any

from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.resources.modelpull import recorded_pull_image
from tests.unit.resources.fleets import deployment_of, engine_of, environment, fleet, pod_of, pull_of, spec, template_of

STORE = {
    "endpoint": "https://minio.storage:9000",
    "region": "eu-west-1",
    "credentialsSecret": "models-s3",
    "caConfigMap": "corp-ca",
}


def mounts(container: Any) -> dict[str, Any]:
    return {mount["name"]: mount for mount in container["volumeMounts"]}


def test_it_pulls_the_pinned_model_with_the_operators_image() -> None:
    pull = pull_of(fleet())
    assert pull["name"] == "pull-model"
    assert pull["image"] == "example.org/inference-fleet:1.0"
    assert pull["command"][:3] == ["inference-fleet", "pull", "s3://models/tiny"]
    assert pull["command"][4:] == ["--digest", "sha256:" + "ab" * 32]


def test_the_store_of_the_spec_reaches_it() -> None:
    variables = environment(pull_of(fleet(spec(model={"store": STORE}))))
    assert variables["AWS_ENDPOINT_URL"] == "https://minio.storage:9000"
    assert variables["AWS_REGION"] == "eu-west-1"


def test_credentials_are_files_of_the_secret_that_only_the_pull_can_read() -> None:
    built = fleet(spec(model={"store": STORE}))
    pull, volumes = pull_of(built), {volume["name"]: volume for volume in pod_of(built)["volumes"]}
    folder = environment(pull)["INFERENCE_FLEET_CREDENTIALS_DIR"]
    name = next(mount["name"] for mount in pull["volumeMounts"] if mount["mountPath"] == folder)
    assert mounts(pull)[name]["readOnly"] is True
    assert volumes[name]["secret"] == {"secretName": "models-s3", "defaultMode": 0o440}
    assert name not in mounts(engine_of(built))
    assert "secretKeyRef" not in str(pod_of(built))


def test_the_stores_certificates_are_mounted() -> None:
    built = fleet(spec(model={"store": STORE}))
    pull, volumes = pull_of(built), {volume["name"]: volume for volume in pod_of(built)["volumes"]}
    bundle = environment(pull)["AWS_CA_BUNDLE"]
    name = next(mount["name"] for mount in pull["volumeMounts"] if bundle == f"{mount['mountPath']}/ca.crt")
    assert volumes[name]["configMap"] == {"name": "corp-ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}


def test_without_a_store_nothing_is_mounted_or_named() -> None:
    built = fleet()
    assert set(environment(pull_of(built))) == {"HOME", "AWS_REGION"}
    assert {volume["name"] for volume in pod_of(built)["volumes"]} == {"model", "scratch", "dshm"}


def test_an_operator_upgrade_leaves_the_template_of_a_running_fleet_alone() -> None:
    live = deployment_of(fleet())
    newer = RenderSettings(operator_image="example.org/inference-fleet:2.0")
    kept = fleet(settings=newer, pull_image=recorded_pull_image(live))
    assert template_of(kept) == live["spec"]["template"]
    assert recorded_pull_image(deployment_of(kept)) == "example.org/inference-fleet:1.0"
    assert pull_of(fleet(settings=newer))["image"] == "example.org/inference-fleet:2.0"


def test_a_hand_edit_of_the_pull_image_is_not_kept() -> None:
    live = deployment_of(fleet())
    live["spec"]["template"]["spec"]["initContainers"][0]["image"] = "example.org/evil:1"
    assert recorded_pull_image(live) == "example.org/inference-fleet:1.0"


def test_a_deployment_without_a_pull_has_no_pull_image() -> None:
    assert recorded_pull_image(deployment_of(fleet(spec(model={"uri": "pvc://weights"})))) is None
    assert recorded_pull_image({"metadata": {"name": "bare"}}) is None
