"""What manifests are built from: frozen values, nothing read from a cluster."""

from dataclasses import dataclass
from typing import Any

from inference_fleet.api.v1alpha1.spec import EngineResources, InferenceServiceSpec, Pool
from inference_fleet.catalog.gpus import GpuType
from inference_fleet.planning.plan import LockedEngine

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Owner:
    """The InferenceService that owns the children."""

    name: str
    namespace: str
    uid: str | None
    """None only where there is no cluster (`inference-fleet render`)."""


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
    standby_pods: str = ""
    """Hash of the pods that stand by now; see `labels.STANDBY_PODS`."""
    gpu_type: GpuType | None = None
    """What the catalogue knows of `pool.gpu`. None: an unknown type, or a slice of a GPU; taken for NVIDIA's."""
    pull_image: str | None = None
    """What `modelpull.recorded_pull_image` says of a live Deployment with this lock; None: the operator's own image.

    An operator upgrade brings a new `operator_image`. The pull in a running fleet keeps the image it was born with,
    for any change of the template would roll every pod; the next lock takes the new image.
    """

    @property
    def gpu_label(self) -> str:
        """Key of the node label that names the GPU type."""
        return self.gpu_type.label_key if self.gpu_type else "nvidia.com/gpu.product"

    @property
    def gpu_resource(self) -> str:
        """The extended resource that stands for a GPU."""
        return self.pool.resource_name or (self.gpu_type.resource_name if self.gpu_type else "nvidia.com/gpu")


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
