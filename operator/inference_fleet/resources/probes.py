"""Probes of the engine, and how long a start may take.

vLLM's `/health` answers 200 from the moment the model is loaded, also while it drains; a saturated engine may take
seconds to answer. So every timeout is far above Kubernetes' default of 1 s, and liveness is slower than readiness:
a pod leaves the Service long before it is killed.
"""

from typing import Any

from inference_fleet.resources.quantity import GIB, MIB

HTTP_PORT_NAME = "http"

_START_BASE_SECONDS = 900
_LOAD_BYTES_PER_SECOND = 100 * MIB
_PULL_BASE_SECONDS = 600
_PULL_BYTES_PER_SECOND = 50 * MIB
_UNKNOWN_MODEL_BYTES = 250 * GIB
_STARTUP_PERIOD_SECONDS = 5
_KILL_GRACE_SECONDS = 30
_ROLLOUT_SLACK_SECONDS = 600


def startup_budget(model_bytes: int | None) -> int:
    """Seconds an engine may take from its start to Ready: 900 s + model bytes / (100 MiB/s).

    The base covers what does not grow with the model: imports on a cold image (up to 75 s), torch.compile (132 s),
    kernel autotuning (4 min), CUDA graphs (196 s for a 405B). The rate is that of a slow network file system; a local
    disk is ten times faster. 15 min for the smallest model, 32 min at 100 GiB. Unknown bytes count as 250 GiB.
    """
    count = _UNKNOWN_MODEL_BYTES if model_bytes is None else model_bytes
    return _START_BASE_SECONDS + -(-count // _LOAD_BYTES_PER_SECOND)


def progress_deadline(model_bytes: int | None) -> int:
    """Seconds without progress after which a rollout counts as failed: longer than a pull plus a start."""
    count = _UNKNOWN_MODEL_BYTES if model_bytes is None else model_bytes
    pull_budget = _PULL_BASE_SECONDS + -(-count // _PULL_BYTES_PER_SECOND)
    return pull_budget + startup_budget(model_bytes) + _ROLLOUT_SLACK_SECONDS


def engine_probes(model_bytes: int | None) -> dict[str, Any]:
    """The probe fields of the engine container.

    A pod that fails its startup or liveness probe has no request worth waiting for (a starting engine does not react
    to SIGTERM, a dead one serves nothing): it is killed after 30 s, not after the drain's grace.
    """
    check = {"httpGet": {"path": "/health", "port": HTTP_PORT_NAME}}
    return {
        "startupProbe": {
            **check,
            "periodSeconds": _STARTUP_PERIOD_SECONDS,
            "timeoutSeconds": 5,
            "failureThreshold": -(-startup_budget(model_bytes) // _STARTUP_PERIOD_SECONDS),
            "terminationGracePeriodSeconds": _KILL_GRACE_SECONDS,
        },
        "readinessProbe": {**check, "periodSeconds": 5, "timeoutSeconds": 10, "failureThreshold": 3},
        "livenessProbe": {
            **check,
            "periodSeconds": 15,
            "timeoutSeconds": 15,
            "failureThreshold": 6,
            "terminationGracePeriodSeconds": _KILL_GRACE_SECONDS,
        },
    }
