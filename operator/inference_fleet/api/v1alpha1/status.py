"""The status of an InferenceService: what users read, and where the lock is kept."""

from typing import Literal

from pydantic import Field

from inference_fleet.api.schema import list_type
from inference_fleet.api.v1alpha1.base import ApiModel


class Condition(ApiModel):
    """One condition, as everywhere in Kubernetes."""

    type: str = Field(max_length=64, description="What the condition is about.")
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: str = Field(max_length=128, description="Stable word for why.")
    message: str = Field(max_length=4096, description="One or two sentences for people.")
    observed_generation: int = Field(description="The generation of the spec that this was said of.")
    last_transition_time: str = Field(description="When the status last changed.")


class ModelStatus(ApiModel):
    """The model as the store had it when this revision was planned."""

    source: str | None = Field(default=None, description="Hash of the model's address and store in the spec.")
    digest: str | None = Field(default=None, description="Digest of the listing: names, sizes and ETags.")
    bytes: int | None = Field(default=None, description="Bytes that a node fetches.")
    weights_bytes: int | None = Field(default=None, description="Bytes of weights, over all ranks.")


class EngineStatus(ApiModel):
    """The locked engine parameters of a pool."""

    image: str | None = Field(default=None, description="Engine image.")
    tensor_parallel_size: int | None = Field(default=None, description="GPUs per replica.")
    max_model_len: int | None = Field(default=None, description="Longest request in tokens.")
    max_num_seqs: int | None = Field(default=None, description="Most requests at once.")
    gpu_memory_utilization: float | None = Field(default=None, description="Share of GPU memory.")
    enable_prefix_caching: bool | None = Field(default=None, description="Whether equal prefixes are reused.")
    kv_cache_dtype: str | None = Field(default=None, description="Type of the KV cache.")


class PoolStatus(ApiModel):
    """One pool as it is now."""

    name: str = Field(description="Name of the pool.")
    gpu: str = Field(description="GPU type of the pool.")
    desired_serving: int = Field(default=0, description="Serving replicas wanted.")
    desired: int = Field(default=0, description="Serving and standby replicas wanted.")
    ready: int = Field(default=0, description="Loaded replicas that respond, whatever their role.")
    serving: int = Field(default=0, description="Loaded replicas that get requests.")
    warm: int = Field(default=0, description="Loaded standby replicas.")
    loading: int = Field(default=0, description="Replicas on their way.")
    draining: int = Field(default=0, description="Replicas that are stopping.")
    failed: int = Field(default=0, description="Replicas that crashed or cannot start.")
    engine: EngineStatus | None = Field(default=None, description="The locked engine parameters.")
    kv_cache_tokens: int | None = Field(default=None, description="Tokens that a replica's KV cache holds.")
    max_concurrency: float | None = Field(default=None, description="Requests of maxModelLen that fit at once.")
    lock: str | None = Field(default=None, description="Hash of the locked values.")
    lock_inputs: str | None = Field(
        default=None, description="Hash of what the lock was planned from; while it holds, the lock is kept."
    )


class ScalingStatus(ApiModel):
    """What the scaler sees and says."""

    demand: float | None = Field(default=None, description="Demand in replicas.")
    floor: int | None = Field(default=None, description="Fewest replicas the forecast asks for.")
    forecast_peak: float | None = Field(default=None, description="Highest demand within the lead time.")
    peak_at: str | None = Field(default=None, description="When that is.")
    reason: str | None = Field(default=None, description="Why the fleet has its size.")


class Totals(ApiModel):
    """Sums over the pools, as `kubectl get` shows them."""

    serving: str = Field(description="Loaded serving replicas / wanted ones, such as 3/4.")
    warm: str = Field(description="Loaded standby replicas / wanted ones.")
    loading: int = Field(description="Replicas on their way.")
    gpus: int = Field(description="GPUs of all wanted replicas.")
    floor: int | None = Field(default=None, description="Fewest serving replicas the forecast asks for.")
    lock: str | None = Field(default=None, description="Hash over the pools' locks.")


class InferenceServiceStatus(ApiModel):
    """What is true of the service now."""

    observed_generation: int = Field(default=-1, description="The generation of the spec that this status is about.")
    conditions: tuple[Condition, ...] = Field(
        default=(), max_length=32, json_schema_extra=list_type("map", "type"), description="What is true, and why."
    )
    model: ModelStatus | None = Field(default=None, description="The model as the store had it.")
    pools: tuple[PoolStatus, ...] = Field(
        default=(), max_length=64, json_schema_extra=list_type("map", "name"), description="The pools as they are."
    )
    scaling: ScalingStatus | None = Field(default=None, description="What the scaler sees and says.")
    url: str | None = Field(default=None, description="Where clients send requests inside the cluster.")
    totals: Totals | None = Field(default=None, description="Sums over the pools: the columns of kubectl get.")
