"""What a pool asks of the planner: the given values, with those hidden in extraArgs, and the version's defaults."""

from dataclasses import dataclass

from inference_fleet.api.v1alpha1.spec import Engine, Workload
from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.extra_args import flag_of, flag_value, size_value
from inference_fleet.catalog.gpus import GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.activations import Batch
from inference_fleet.planning.layout import CacheRequest
from inference_fleet.planning.pages import KvDtype
from inference_fleet.planning.speculation import Speculation, read_speculation

BLOCK = 16
"""Tokens of a KV cache block, where extraArgs do not set --block-size."""

_OLD_SEQS = 256


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
    speculation: Speculation | None = None

    def has(self, *flags: str) -> bool:
        """Whether extraArgs hold one of the flags."""
        return any(flag_of(item) in flags for item in self.extra_args)

    @property
    def expert_parallel(self) -> bool:
        """Whether ranks hold whole experts instead of slices of all."""
        return self.has("--enable-expert-parallel", "-ep")

    @property
    def whole_encoder(self) -> bool:
        """Whether every rank holds the whole encoder."""
        return flag_value(self.extra_args, "--mm-encoder-tp-mode") == "data"

    @property
    def text_only(self) -> bool:
        """Whether the encoders are left out."""
        limit = (flag_value(self.extra_args, "--limit-mm-per-prompt") or "").replace(" ", "")
        return self.has("--language-model-only") or '"image":0' in limit or "image=0" in limit

    def kv_dtype(self, facts: ModelFacts) -> KvDtype:
        """The KV cache dtype, `auto` resolved by what the checkpoint brings."""
        name = self.kv_cache_dtype
        brings = facts.quantization is not None and facts.quantization.kv_fp8 and self.version.reads_kv_scales
        if name == "auto" and brings:
            name = "fp8"
        return KvDtype(name, 4 if self.dtype in {"float", "float32"} else 2)

    def default_seqs(self, gpu: GpuType) -> int:
        """Sequences of a batch if nothing is said."""
        seqs = gpu.batch_defaults.max_num_seqs if self.version.batches_by_gpu else _OLD_SEQS
        return min(seqs, self.batched_tokens) if self.batched_tokens else seqs

    def batch(self, facts: ModelFacts, gpu: GpuType, seqs: int) -> Batch:
        """What the profile run is made with: the given batch or the default of the GPU, bounded as vLLM bounds it."""
        length = self.max_model_len or facts.default_len
        tokens = self.batched_tokens or min(gpu.batch_defaults.max_num_batched_tokens, seqs * length)
        if self.has("--no-enable-chunked-prefill"):
            tokens = max(tokens, length)
        return Batch(tokens, seqs, length, images=not self.text_only)

    def cache(self, facts: ModelFacts, gpu: GpuType, tp: int, batched: int) -> CacheRequest:
        """What the layout of the block pool depends on."""
        drafter = self.speculation
        return CacheRequest(
            tp=tp,
            dtype=self.kv_dtype(facts),
            block=self.block,
            in_flight=batched * self.version.batches_in_flight,
            version=self.version,
            prefix_caching=self.enable_prefix_caching,
            draft_layers=drafter.layers if drafter else 0,
            speculative_tokens=drafter.tokens if drafter else 0,
            wide_heads_aligned=gpu.capability is not None and gpu.capability[0] == 10,
        )


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
        speculation=read_speculation(extra),
    )
