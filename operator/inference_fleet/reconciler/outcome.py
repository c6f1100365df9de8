"""What the pure core takes in besides the service, and what it answers."""

from dataclasses import dataclass

from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import Model
from inference_fleet.api.v1alpha1.status import InferenceServiceStatus
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.reconciler.observed import ChildView
from inference_fleet.resources.inputs import Manifest, RenderSettings
from inference_fleet.warmpool.pods import RoleChange


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model as the store has it. Without facts (no readable config.json) nothing is checked against it."""

    digest: str | None
    bytes: int | None
    facts: ModelFacts | None


@dataclass(frozen=True, slots=True)
class ModelUnreadable:
    """Why a model could not be read: the reason and message of a condition."""

    reason: Reason
    message: str


ModelRead = StoredModel | ModelUnreadable | None
"""The last answer of the store; None while it is being asked."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the operator's installation decides."""

    render: RenderSettings
    catalog: GpuCatalog


@dataclass(frozen=True, slots=True)
class Failures:
    """What could not be written the last time, kept until it works."""

    taken_names: frozenset[str] = frozenset()
    """Names of children that belong to somebody else."""
    reason: Reason = Reason.APPLY_FAILED
    message: str | None = None
    """Why a write was refused; None while all is well."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What is to be done about a service, in this order: roles, apply, prune, status."""

    status: InferenceServiceStatus
    roles: tuple[RoleChange, ...] = ()
    desired: tuple[Manifest, ...] = ()
    prune: tuple[ChildView, ...] = ()
    wants_model: Model | None = None
    """The model whose store must be asked before the plan can be made."""
