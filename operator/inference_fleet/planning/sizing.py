"""From a model, a GPU type and a tensor parallel size to the bill, the KV cache and the lengths that fit."""

from dataclasses import dataclass

from inference_fleet.catalog.gpus import GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning import memory
from inference_fleet.planning.plan import MemoryBill
from inference_fleet.planning.request import Request

USEFUL_LEN = 8192
"""A planned length below this is taken only if no legal tensor parallel size gives more."""
LEAST_LEN = 256
"""A planned length below this is no service."""
_STEP = 1024
"""Planned lengths are multiples of this, where they are not the model's own."""


@dataclass(frozen=True, slots=True)
class Sizing:
    """A pool at one tensor parallel size."""

    tensor_parallel_size: int
    bill: MemoryBill
    shortfall: int
    """Bytes that are missing before the first block of KV cache; 0 if none."""
    max_model_len: int
    """Given, or planned; 0 if no length fits."""
    max_num_seqs: int
    batched_tokens: int
    longest_len: int
    """Longest single request that the KV cache holds."""
    blocks: int
    blocks_per_request: int
    block: int

    @property
    def holds_request(self) -> bool:
        """Whether one request of maxModelLen fits. One block is the engine's null block."""
        if not self.bill.kv_cache_bytes_per_token:
            return self.shortfall == 0
        return 0 < self.blocks_per_request <= self.blocks - 1

    @property
    def kv_cache_tokens(self) -> int | None:
        """Tokens of the KV cache; None where nothing is kept per token."""
        return self.blocks * self.block if self.bill.kv_cache_bytes_per_token else None

    @property
    def max_concurrency(self) -> float | None:
        """Requests of maxModelLen at once, as vLLM prints it."""
        if not self.bill.kv_cache_bytes_per_token or not self.blocks_per_request:
            return None
        return round(self.blocks / self.blocks_per_request, 2)


def size(facts: ModelFacts, gpu: GpuType, tp: int, request: Request) -> Sizing:
    """The pool at tensor parallel size `tp`: given values kept, the others planned."""
    cap = request.max_num_seqs or _seqs_cap(gpu, request)
    first = _sized(facts, gpu, tp, request, cap, None)
    if request.max_num_seqs or not request.request_tokens or not first.bill.kv_cache_bytes_per_token:
        return first
    at_once = (first.blocks - 1) // -(-request.request_tokens // first.block)
    seqs = max(1, min(cap, at_once))
    return first if seqs == cap else _sized(facts, gpu, tp, request, seqs, first.max_model_len)


def _seqs_cap(gpu: GpuType, request: Request) -> int:
    cap = gpu.batch_defaults.max_num_seqs
    return min(cap, request.batched_tokens) if request.batched_tokens else cap


def _sized(facts: ModelFacts, gpu: GpuType, tp: int, request: Request, seqs: int, planned: int | None) -> Sizing:
    batch = request.batch(facts, gpu, seqs)
    bill, shortfall = _bill(facts, gpu, tp, request, batch)
    page = bill.kv_cache_bytes_per_token * request.block
    blocks = bill.kv_cache_bytes // page if page else 0
    longest = max(0, blocks - 1) * request.block if page else facts.longest_len
    length = request.max_model_len or planned or _planned_len(facts.default_len, longest)
    return Sizing(
        tensor_parallel_size=tp,
        bill=bill,
        shortfall=shortfall,
        max_model_len=length,
        max_num_seqs=seqs,
        batched_tokens=batch.tokens,
        longest_len=longest,
        blocks=blocks,
        blocks_per_request=-(-length // request.block),
        block=request.block,
    )


def _bill(facts: ModelFacts, gpu: GpuType, tp: int, request: Request, batch: memory.Batch) -> tuple[MemoryBill, int]:
    weights = memory.weights(facts, tp)
    activations = memory.activations(facts, tp, batch, request.version)
    causes = memory.overheads(facts, tp, batch.seqs, request.version, eager=request.has("--enforce-eager"))
    overhead = sum(part for _, part in causes)
    usable = memory.requested(gpu.memory_bytes, request.utilization)
    left = usable - weights - activations - overhead
    if request.kv_cache_bytes is not None:
        left = min(request.kv_cache_bytes, gpu.memory_bytes - weights - activations - overhead)
    bill = MemoryBill(
        gpu_bytes=gpu.memory_bytes,
        usable_bytes=usable,
        weights_bytes=weights,
        activation_bytes=activations,
        overhead_bytes=overhead,
        overhead_causes=causes,
        kv_cache_bytes=max(0, left),
        kv_cache_bytes_per_token=memory.kv_bytes_per_token(facts, tp, request.kv_element()),
    )
    return bill, max(0, -left)


def _planned_len(default: int, longest: int) -> int:
    """The model's own length if it fits, else the longest that fits, rounded down."""
    if default <= longest:
        return default
    return longest // _STEP * _STEP or longest


def useful(sizing: Sizing, facts: ModelFacts, request: Request, least: int) -> bool:
    """Whether a sizing serves: the given length fits, or a planned one of at least `least` tokens."""
    if not sizing.holds_request:
        return False
    wanted = max(least, request.request_tokens or 0)
    return request.max_model_len is not None or sizing.max_model_len >= min(facts.default_len, wanted)


def smallest(facts: ModelFacts, gpu: GpuType, sizes: tuple[int, ...], request: Request) -> Sizing | None:
    """The sizing of the smallest tensor parallel size that serves; several small replicas beat one wide one."""
    sized = [size(facts, gpu, tp, request) for tp in sizes]
    for least in (USEFUL_LEN, LEAST_LEN):
        for sizing in sized:
            if useful(sizing, facts, request, least):
                return sizing
    return None
