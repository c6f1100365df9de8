"""Security contexts: what a namespace that enforces the restricted Pod Security Standard admits."""

from typing import Any

RUN_AS = 10001
"""User, group and fsGroup of every pod. Not one that an image defines: nothing in it belongs to this user."""


def pod_security_context() -> dict[str, Any]:
    """Non-root under a fixed user; volumes that can be chowned belong to its group."""
    return {
        "runAsNonRoot": True,
        "runAsUser": RUN_AS,
        "runAsGroup": RUN_AS,
        "fsGroup": RUN_AS,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security_context() -> dict[str, Any]:
    """No capability, no way to gain one, and an image that cannot be written to."""
    return {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
