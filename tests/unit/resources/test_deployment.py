from typing import Any

import pytest

from inference_fleet.api import labels
from tests.unit.resources.fleets import deployment_of, engine_of, fleet, locked, pod_of, spec, template_of


def test_replicas_are_serving_and_standby_together() -> None:
    assert deployment_of(fleet(serving=4, warm=2))["spec"]["replicas"] == 6
    assert deployment_of(fleet(serving=0, warm=0))["spec"]["replicas"] == 0


@pytest.mark.parametrize(("warm", "at_once"), [(0, 1), (1, 1), (5, 5)])
def test_a_rollout_adds_no_pod_and_takes_as_many_as_stand_by(warm: int, at_once: int) -> None:
    strategy = deployment_of(fleet(serving=8, warm=warm))["spec"]["strategy"]
    assert strategy == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": at_once}}
    assert deployment_of(fleet())["spec"]["minReadySeconds"] == 10


def test_counts_of_replicas_never_touch_the_template() -> None:
    one = fleet(spec(pool={"replicas": {"min": 0, "max": 4}}), serving=1, warm=0, standby_pods="a")
    other = fleet(spec(pool={"replicas": {"min": 9, "max": 90}, "costPerGPUHour": 3.0}), serving=50, warm=20)
    assert template_of(one) == template_of(other)


def test_a_change_of_role_does_not_take_the_pod_from_its_deployment() -> None:
    built = deployment_of(fleet())
    selector = built["spec"]["selector"]["matchLabels"]
    assert selector == {labels.SERVICE: "chat", labels.POOL: "l4"}
    assert selector.items() <= built["spec"]["template"]["metadata"]["labels"].items()


def test_pods_are_born_serving_under_their_lock() -> None:
    metadata = template_of(fleet())["metadata"]
    assert metadata["labels"][labels.ROLE] == "serving"
    assert metadata["labels"][labels.LOCK] == "12e4567890"
    assert metadata["annotations"] == {
        labels.MODEL_NAME: "tiny",
        labels.MODEL_URI: "s3://models/tiny",
        labels.MODEL_DIGEST: "sha256:" + "ab" * 32,
    }


@pytest.mark.parametrize(
    "field",
    [{"drainSeconds": 60}, {"warmPool": {"percent": 50}}, {"disruption": {"maxUnavailable": 2}}],
)
def test_only_what_the_pod_sees_changes_the_template(field: dict[str, Any]) -> None:
    changed = template_of(fleet(spec(**field))) != template_of(fleet())
    assert changed == ("drainSeconds" in field)


@pytest.mark.parametrize("seconds", [10, 20, 300, 3600])
def test_the_three_numbers_of_the_drain_reach_the_pod(seconds: int) -> None:
    built = fleet(spec(drainSeconds=seconds))
    args = engine_of(built)["args"]
    timeout = int(args[args.index("--shutdown-timeout") + 1])
    pre_stop = engine_of(built)["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pre_stop < timeout
    assert pre_stop + timeout + 10 < pod_of(built)["terminationGracePeriodSeconds"]


def test_an_engine_before_0_19_drains_before_the_signal() -> None:
    built = fleet(spec(drainSeconds=120), engine=locked(image="vllm/vllm-openai:v0.18.2"))
    assert "--shutdown-timeout" not in engine_of(built)["args"]
    assert engine_of(built)["lifecycle"]["preStop"]["sleep"]["seconds"] == 120
    assert pod_of(built)["terminationGracePeriodSeconds"] > 120
