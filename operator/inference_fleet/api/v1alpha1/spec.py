"""The spec of an InferenceService: what users write.

Limits and patterns here are the schema of the CRD (`api/crd.py` renders it). What is left out stays `None` and is
resolved in code, so that Git and the live object agree; the resolved value is shown in status.
"""

from enum import StrEnum
from typing import ClassVar, Literal

from pydantic import Field, StrictBool, StrictFloat, StrictInt

from inference_fleet.api.rules import Rule
from inference_fleet.api.schema import list_type
from inference_fleet.api.v1alpha1.base import ApiModel
from inference_fleet.api.v1alpha1.fields import (
    Arguments,
    CpuQuantity,
    Duration,
    Endpoint,
    GpuType,
    Image,
    LabelKey,
    LabelValue,
    MemoryQuantity,
    MemoryShare,
    ModelName,
    ModelUri,
    NodeSelector,
    ObjectName,
    PoolName,
    Region,
    ResourceName,
    Timezone,
    UtilizationShare,
)


class KVCacheDtype(StrEnum):
    """How keys and values are stored on the GPU."""

    AUTO = "auto"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    FP8 = "fp8"
    FP8_E4M3 = "fp8_e4m3"
    FP8_E5M2 = "fp8_e5m2"


class Store(ApiModel):
    """How to reach the model store."""

    endpoint: Endpoint | None = Field(
        default=None,
        description="URL of the S3 endpoint, such as https://minio.storage:9000; left out: AWS S3 of the region.",
    )
    region: Region | None = Field(default=None, description="Region of the bucket; us-east-1 if left out.")
    credentials_secret: ObjectName | None = Field(
        default=None,
        description="Secret in the same namespace with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY "
        "(AWS_SESSION_TOKEN too where needed); left out: anonymous access.",
    )
    ca_config_map: ObjectName | None = Field(
        default=None, description="ConfigMap in the same namespace whose key ca.crt holds the store's CA certificates."
    )


class Model(ApiModel):
    """The model that is served."""

    rules: ClassVar[tuple[Rule["Model"], ...]] = (
        Rule(
            cel="!has(self.store) || self.uri.startsWith('s3://')",
            holds=lambda model: model.store is None or model.uri.startswith("s3://"),
            message="model.store belongs to an s3:// uri; a pvc:// model is read from its claim",
        ),
    )

    name: ModelName = Field(
        description="The model name that clients send in OpenAI requests.",
    )
    uri: ModelUri = Field(
        description="Directory with config.json and *.safetensors: s3://BUCKET/PREFIX or pvc://CLAIM/PATH.",
    )
    store: Store | None = Field(default=None, description="How to reach the store of an s3:// model.")


class EngineResources(ApiModel):
    """Host resources of an engine container; GPUs follow from the tensor parallel size."""

    cpu: CpuQuantity | None = Field(default=None, description="CPU request, such as 8 or 8000m; planned if left out.")
    memory: MemoryQuantity | None = Field(
        default=None,
        description="Host memory, request and limit, such as 64Gi; /dev/shm is added to it. Planned if left out.",
    )


class Engine(ApiModel):
    """The engine's parameters. What is left out is planned; all of them are locked."""

    image: Image | None = Field(
        default=None,
        description="vLLM image; its version decides which flags are rendered. The operator's default if left out.",
    )
    max_model_len: StrictInt | None = Field(
        default=None, ge=1, le=100_000_000, description="Longest request in tokens, prompt and answer together."
    )
    max_num_seqs: StrictInt | None = Field(
        default=None, ge=1, le=65_536, description="Most requests that a replica runs at once."
    )
    gpu_memory_utilization: MemoryShare | None = Field(
        default=None, description="Share of GPU memory that the engine may use, 0.1 to 0.99."
    )
    enable_prefix_caching: StrictBool | None = Field(
        default=None, description="Reuse the KV cache of equal prompt prefixes."
    )
    kv_cache_dtype: KVCacheDtype | None = Field(
        default=None, description="Type of the KV cache; auto: the model's own."
    )
    extra_args: Arguments | None = Field(
        default=None,
        description="Further engine arguments, one per item, passed byte for byte. A locked flag is refused.",
    )
    resources: EngineResources | None = Field(default=None, description="Host CPU and memory of the engine.")


class Replicas(ApiModel):
    """Bounds of a pool's serving replicas; standby replicas come on top."""

    rules: ClassVar[tuple[Rule["Replicas"], ...]] = (
        Rule(
            cel="self.min <= self.max",
            holds=lambda replicas: replicas.min <= replicas.max,
            message="replicas.min may not be above replicas.max",
        ),
    )

    min: StrictInt = Field(ge=0, le=1000, description="Fewest serving replicas.")
    max: StrictInt = Field(ge=1, le=1000, description="Most serving replicas.")


class Toleration(ApiModel):
    """A toleration, as in a pod spec."""

    rules: ClassVar[tuple[Rule["Toleration"], ...]] = (
        Rule(
            cel="has(self.key) || (has(self.operator) && self.operator == 'Exists')",
            holds=lambda toleration: toleration.key is not None or toleration.operator == "Exists",
            message="a toleration without a key needs operator: Exists",
        ),
        Rule(
            cel="!(has(self.value) && has(self.operator) && self.operator == 'Exists')",
            holds=lambda toleration: toleration.value is None or toleration.operator != "Exists",
            message="a toleration with operator: Exists has no value",
        ),
        Rule(
            cel="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            holds=lambda toleration: toleration.toleration_seconds is None or toleration.effect == "NoExecute",
            message="tolerationSeconds needs effect: NoExecute",
        ),
    )

    key: LabelKey | None = Field(default=None, description="Taint key; left out with Exists: every taint.")
    operator: Literal["Exists", "Equal"] | None = Field(default=None, description="Equal if left out.")
    value: LabelValue | None = Field(default=None, description="Taint value, with Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        default=None, description="Taint effect; all effects if left out."
    )
    toleration_seconds: StrictInt | None = Field(default=None, ge=0, description="With NoExecute: how long to stay.")


class Pool(ApiModel):
    """One GPU type of the service: one Deployment."""

    name: PoolName = Field(description="Name of the pool, such as h100.")
    gpu: GpuType = Field(
        description="GPU type as nodes are labelled (nvidia.com/gpu.product), such as NVIDIA-H100-80GB-HBM3.",
    )
    tensor_parallel_size: Literal[1, 2, 4, 8, 16] | None = Field(
        default=None, description="GPUs per replica: 1, 2, 4, 8 or 16; the smallest that fits if left out."
    )
    replicas: Replicas = Field(description="Bounds of the pool's serving replicas.")
    cost_per_gpu_hour: StrictFloat | None = Field(
        default=None, ge=0, le=10_000, alias="costPerGPUHour", description="Price of one GPU for one hour."
    )
    engine: Engine | None = Field(
        default=None, description="Engine parameters of this pool, over those of the service."
    )
    node_selector: NodeSelector | None = Field(
        default=None, description="Further node labels that the pool's pods ask for."
    )
    tolerations: tuple[Toleration, ...] | None = Field(
        default=None,
        max_length=16,
        json_schema_extra=list_type("atomic"),
        description="Taints that the pool's pods tolerate, helpers included.",
    )
    resource_name: ResourceName | None = Field(
        default=None,
        description="Extended resource that stands for a GPU; nvidia.com/gpu for NVIDIA types if left out.",
    )
    priority_class_name: ObjectName | None = Field(default=None, description="PriorityClass of the pool's pods.")


class Workload(ApiModel):
    """A typical request, for sizing."""

    input_tokens: StrictInt = Field(ge=1, le=100_000_000, description="Prompt tokens of a typical request.")
    output_tokens: StrictInt = Field(ge=1, le=100_000_000, description="Generated tokens of a typical request.")


class WarmPool(ApiModel):
    """Standby replicas of each pool: ceil(percent x serving / 100), at least min, none where nothing serves."""

    percent: StrictInt | None = Field(
        default=None,
        ge=0,
        le=100,
        description="Standby in percent of the serving replicas, rounded up; 25 if left out.",
    )
    min: StrictInt | None = Field(
        default=None, ge=0, le=1000, description="Fewest standby replicas of a pool that serves; 0 if left out."
    )


class Predictive(ApiModel):
    """The forecast floor."""

    mode: Literal["Off", "ForecastOnly", "Auto"] | None = Field(default=None, description="Off if left out.")
    lead_time: Duration | None = Field(default=None, description="How far ahead the floor looks, such as 20m.")
    timezone: Timezone | None = Field(
        default=None,
        description="IANA zone of the traffic's days and weeks, such as Asia/Shanghai; UTC if left out.",
    )


class Reclaim(ApiModel):
    """How capacity is given back."""

    stabilization: Duration | None = Field(default=None, description="Demand must be lower for this long first.")
    max_percent_per_step: StrictInt | None = Field(
        default=None, ge=1, le=100, description="Most serving replicas taken away at once, in percent."
    )


class Scaling(ApiModel):
    """How the number of serving replicas follows the traffic."""

    target_utilization: UtilizationShare | None = Field(
        default=None, description="Share of a replica's capacity that is planned to be used, 0.05 to 1."
    )
    predictive: Predictive | None = Field(default=None, description="The forecast floor.")
    reclaim: Reclaim | None = Field(default=None, description="How capacity is given back.")


class Disruption(ApiModel):
    """What drains and rollouts may take."""

    max_unavailable: StrictInt | None = Field(
        default=None, ge=0, le=1000, description="Serving replicas of a pool that an eviction may take; 1 if left out."
    )


class Cache(ApiModel):
    """Where a node keeps the model."""

    type: Literal["Node", "Ephemeral", "PersistentVolumeClaim"] | None = Field(
        default=None,
        description="Node: shared by the pods of a node, at a path the operator's settings give. Ephemeral: with the "
        "pod. PersistentVolumeClaim: one claim per pod. Node if left out.",
    )


def _typical_request_fits(spec: "InferenceServiceSpec") -> bool:
    """Whether a typical request is no longer than the longest one of each pool, where both are given."""
    if spec.workload is None:
        return True
    tokens = spec.workload.input_tokens + spec.workload.output_tokens
    of_service = spec.engine.max_model_len if spec.engine else None
    of_pools = (pool.engine.max_model_len if pool.engine else None for pool in spec.pools)
    return all(tokens <= (limit or of_service or tokens) for limit in of_pools)


class InferenceServiceSpec(ApiModel):
    """What is served, on which GPU types, and how."""

    rules: ClassVar[tuple[Rule["InferenceServiceSpec"], ...]] = (
        Rule(
            cel="self.pools.size() > 0",
            holds=lambda spec: len(spec.pools) > 0,
            message="a service needs at least one pool",
        ),
        Rule(
            cel=None,
            holds=lambda spec: len({pool.name for pool in spec.pools}) == len(spec.pools),
            message="pool names must differ from each other",
        ),
        Rule(
            cel=None,
            holds=lambda spec: len(set(spec.image_pull_secrets or ())) == len(spec.image_pull_secrets or ()),
            message="imagePullSecrets must differ from each other",
        ),
        Rule(
            cel="!has(self.workload) || self.pools.all(pool, "
            "self.workload.inputTokens + self.workload.outputTokens <= "
            "(has(pool.engine) && has(pool.engine.maxModelLen) ? pool.engine.maxModelLen "
            ": has(self.engine) && has(self.engine.maxModelLen) ? self.engine.maxModelLen : 200000000))",
            holds=_typical_request_fits,
            message="workload.inputTokens + workload.outputTokens may not be above maxModelLen (of spec.engine, or of "
            "the engine of a pool)",
        ),
    )

    model: Model = Field(description="The model that is served.")
    engine: Engine | None = Field(
        default=None, description="Engine parameters of every pool; what is left out is planned."
    )
    pools: tuple[Pool, ...] = Field(
        max_length=16,
        description="GPU types: one Deployment each.",
        json_schema_extra=list_type("map", "name"),
    )
    workload: Workload | None = Field(default=None, description="A typical request, for sizing.")
    warm_pool: WarmPool | None = Field(default=None, description="Loaded standby replicas.")
    scaling: Scaling | None = Field(default=None, description="How the fleet follows the traffic.")
    disruption: Disruption | None = Field(default=None, description="What drains and rollouts may take.")
    drain_seconds: StrictInt | None = Field(
        default=None,
        ge=10,
        le=86_400,
        description="How long running requests get to finish when a replica stops; 300 if left out.",
    )
    cache: Cache | None = Field(default=None, description="Where a node keeps the model.")
    image_pull_secrets: tuple[ObjectName, ...] | None = Field(
        default=None,
        max_length=8,
        json_schema_extra=list_type("set"),
        description="Secrets in the same namespace that pull the images of every pod.",
    )
