"""What is wrong with an engine pod, as the reason and sentence of a condition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference_fleet.api.conditions import Reason
from inference_fleet.resources.modelpull import PULL_CONTAINER

_MAX_MESSAGE = 300
_IMAGE_REASONS = {
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
    "RegistryUnavailable",
}


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a pod does not become Ready."""

    reason: Reason
    message: str


def trouble(status: Mapping[str, Any]) -> Trouble | None:
    """The first thing that is wrong in a pod's status; None while it merely loads."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
            return Trouble(Reason.UNSCHEDULABLE, last_line(condition.get("message")))
    for container in (status.get("initContainerStatuses") or []) + (status.get("containerStatuses") or []):
        found = _container_trouble(container)
        if found is not None:
            return found
    return None


def _container_trouble(container: Mapping[str, Any]) -> Trouble | None:
    name = container.get("name", "")
    waiting = (container.get("state") or {}).get("waiting") or {}
    why = waiting.get("reason", "")
    if why in _IMAGE_REASONS:
        return Trouble(
            Reason.IMAGE_PULL_FAILED, f"{container.get('image')}: {last_line(waiting.get('message')) or why}"
        )
    if why in ("CreateContainerConfigError", "CreateContainerError"):
        return Trouble(Reason.CRASH_LOOP, f"{name}: {last_line(waiting.get('message')) or why}")
    ended = (container.get("state") or {}).get("terminated") or (container.get("lastState") or {}).get("terminated")
    if not ended or ended.get("exitCode") == 0 or container.get("ready"):
        return None
    told = last_line(ended.get("message")) or f"{ended.get('reason', 'Error')}, exit code {ended.get('exitCode')}"
    if name == PULL_CONTAINER:
        return Trouble(Reason.MODEL_PULL_FAILED, told)
    return Trouble(Reason.CRASH_LOOP, f"restarted {container.get('restartCount', 0)} times; its last line: {told}")


def last_line(text: str | None) -> str:
    """The last line that says something, cut to a condition's size."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1][:_MAX_MESSAGE] if lines else ""
