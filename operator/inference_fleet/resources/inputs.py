"""What manifests are built from: frozen values, nothing read from a cluster."""

from dataclasses import dataclass
from typing import Any

from inference_fleet.api.v1alpha1.spec import EngineResources, InferenceServiceSpec, Pool
from inference_fleet.planning.plan import LockedEngine

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The InferenceService that owns the children."""

    name: str
    namespace: str
    uid: str


@dataclass(frozen=True, slots=True)
class ModelSource:
    """The model's bytes, pinned. `digest` and `bytes` are None where the store was not read (pvc://)."""

    digest: str | None
    bytes: int | None


@dataclass(frozen=True, slots=True)
class PoolTarget:
    """One pool as it should be."""

    pool: Pool
    engine: LockedEngine
    resources: EngineResources | None
    lock: str
    name: str
    """Name of the Deployment and the budget."""
    serving: int
    warm: int
    serving_pods: str = ""
    """Hash of the pods that serve now; see `labels.SERVING_PODS`."""


@dataclass(frozen=True, slots=True)
class RenderSettings:
    """What the operator's installation decides, not the user."""

    operator_image: str
    """Image of the init container that runs `inference-fleet pull`."""
    default_engine_image: str = "vllm/vllm-openai:v0.33.0"
    cache_host_path: str = "/var/lib/inference-fleet/models"
    cache_claim_size: str = "500Gi"
    """Size of a PersistentVolumeClaim or Ephemeral cache where the model's size is not known."""
    image_pull_secrets: tuple[str, ...] = ()
    """Pull secrets of every pod, beside those of the service."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """All that the manifests of one service depend on."""

    owner: Owner
    spec: InferenceServiceSpec
    model: ModelSource
    pools: tuple[PoolTarget, ...]
    settings: RenderSettings
