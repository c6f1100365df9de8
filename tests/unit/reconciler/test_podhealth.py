"""What a person reads when a pod does not start."""

from typing import Any

import pytest

from inference_fleet.api.conditions import Reason
from inference_fleet.reconciler.podhealth import trouble


def waiting(reason: str, message: str = "", **extra: Any) -> dict[str, Any]:
    return {"name": "engine", "image": "x:1", "state": {"waiting": {"reason": reason, "message": message}}, **extra}


def test_a_pod_that_merely_loads_has_no_trouble() -> None:
    assert trouble({"containerStatuses": [{"name": "engine", "state": {"running": {}}, "ready": False}]}) is None
    assert trouble({"containerStatuses": [waiting("PodInitializing")]}) is None


def test_unschedulable_says_what_the_scheduler_said() -> None:
    found = trouble(
        {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable", "message": "0/16 nodes: no GPU"}]}
    )
    assert found is not None
    assert (found.reason, found.message) == (Reason.UNSCHEDULABLE, "0/16 nodes: no GPU")


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_an_image_that_cannot_be_pulled_is_named(reason: str) -> None:
    found = trouble({"containerStatuses": [waiting(reason, "not found")]})
    assert found is not None
    assert found.reason == Reason.IMAGE_PULL_FAILED
    assert "x:1" in found.message


def test_a_crash_loop_shows_the_engines_last_line() -> None:
    log = "INFO loading\nRuntimeError: CUDA out of memory\n\n"
    status = waiting("CrashLoopBackOff", restartCount=4) | {
        "lastState": {"terminated": {"exitCode": 1, "message": log}}
    }
    found = trouble({"containerStatuses": [status]})
    assert found is not None
    assert found.reason == Reason.CRASH_LOOP
    assert "RuntimeError: CUDA out of memory" in found.message
    assert "4 times" in found.message


def test_a_failed_pull_of_the_model_is_told_apart_from_a_crash() -> None:
    status = {"name": "pull-model", "state": {"terminated": {"exitCode": 1, "message": "bucket models has no objects"}}}
    found = trouble({"initContainerStatuses": [status]})
    assert found is not None
    assert (found.reason, found.message) == (Reason.MODEL_PULL_FAILED, "bucket models has no objects")


def test_a_pod_that_recovered_from_a_crash_has_no_trouble() -> None:
    status = {"name": "engine", "ready": True, "lastState": {"terminated": {"exitCode": 1}}, "state": {"running": {}}}
    assert trouble({"containerStatuses": [status]}) is None
