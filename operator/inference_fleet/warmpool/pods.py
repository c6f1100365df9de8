"""What the warm pool knows of an engine pod, and what it wants changed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PodView:
    """One pod of a pool as last seen. Times are RFC 3339 in UTC, as the API server writes them."""

    name: str
    uid: str
    role: str
    """Value of the role label; empty where somebody removed it."""
    ready: bool
    created: str
    lock: str
    """Value of the lock label: which plan the pod runs."""
    ready_since: str | None = None
    deleting: bool = False
    failed: bool = False
    """Phase Failed or Succeeded: the pod has ended and never comes back."""
    deletion_cost: str | None = None
    """Value of `controller.kubernetes.io/pod-deletion-cost`; None where it is not set."""
    resource_version: str | None = None


@dataclass(frozen=True, slots=True)
class RoleChange:
    """One patch of a pod's metadata: its role label and its deletion cost, the annotation removed for None."""

    name: str
    uid: str
    role: str
    deletion_cost: str | None
