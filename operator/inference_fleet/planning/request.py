"""What a pool asks of the planner: the given values, with those hidden in extraArgs, and the version's defaults."""

from dataclasses import dataclass

from inference_fleet.api.v1alpha1.spec import Engine, Workload
from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.extra_args import flag_of, flag_value, size_value
from inference_fleet.catalog.gpus import GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.memory import Batch

BLOCK = 16
"""Tokens of a KV cache block, where extraArgs do not set --block-size."""


@dataclass(frozen=True, slots=True)
class Request:
    """The parameters that a plan starts from. None: to be planned."""

    version: EngineVersion
    max_model_len: int | None
    max_num_seqs: int | None
    utilization: float
    enable_prefix_caching: bool
    kv_cache_dtype: str
    request_tokens: int | None
    """Prompt and answer of a typical request."""
    extra_args: tuple[str, ...]
    batched_tokens: int | None
    block: int
    kv_cache_bytes: int | None
    """--kv-cache-memory-bytes: replaces what the utilization would leave."""
    dtype: str | None

    def has(self, *flags: str) -> bool:
        """Whether extraArgs hold one of the flags."""
        return any(flag_of(item) in flags for item in self.extra_args)

    def kv_element(self) -> int:
        """Bytes of a stored key or value element."""
        if self.kv_cache_dtype.startswith("fp8"):
            return 1
        return 4 if self.kv_cache_dtype == "auto" and self.dtype in {"float", "float32"} else 2

    def batch(self, facts: ModelFacts, gpu: GpuType, seqs: int) -> Batch:
        """What the profile run is made with: the given batch or the default of the GPU, bounded as vLLM bounds it."""
        length = self.max_model_len or facts.default_len
        tokens = self.batched_tokens or min(gpu.batch_defaults.max_num_batched_tokens, seqs * length)
        if self.has("--no-enable-chunked-prefill"):
            tokens = max(tokens, length)
        return Batch(tokens, seqs)


def read_request(engine: Engine, workload: Workload | None, version: EngineVersion) -> Request:
    """The request of a pool, `engine` being the pool's parameters over the service's."""
    extra = engine.extra_args or ()
    given = engine.gpu_memory_utilization
    return Request(
        version=version,
        max_model_len=engine.max_model_len,
        max_num_seqs=engine.max_num_seqs,
        utilization=version.default_utilization if given is None else given,
        enable_prefix_caching=engine.enable_prefix_caching is not False,
        kv_cache_dtype=engine.kv_cache_dtype.value if engine.kv_cache_dtype else "auto",
        request_tokens=workload.input_tokens + workload.output_tokens if workload else None,
        extra_args=extra,
        batched_tokens=size_value(extra, "--max-num-batched-tokens"),
        block=size_value(extra, "--block-size") or BLOCK,
        kv_cache_bytes=size_value(extra, "--kv-cache-memory-bytes"),
        dtype=flag_value(extra, "--dtype"),
    )
