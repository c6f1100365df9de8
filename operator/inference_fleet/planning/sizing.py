"""From a model, a GPU type and a tensor parallel size to the bill, the KV cache and the lengths that fit."""

from dataclasses import dataclass, replace

from inference_fleet.catalog.gpus import GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning import memory
from inference_fleet.planning.activations import Activations, Batch, activations
from inference_fleet.planning.coefficients import FITTED, Coefficients
from inference_fleet.planning.kvcache import KvLayout
from inference_fleet.planning.layout import kv_layout
from inference_fleet.planning.overheads import EAGER, overheads
from inference_fleet.planning.pages import indexer_bytes, token_bytes
from inference_fleet.planning.plan import MemoryBill
from inference_fleet.planning.request import Request

USEFUL_LEN = 8192
"""A planned length below this is taken only if no legal tensor parallel size gives more."""
LEAST_LEN = 256
"""A planned length below this is no service."""
USEFUL_CONCURRENCY = 2
"""A planned length leaves room for as many requests of it, as long as it stays useful: one must not stop all others."""
_STEP = 1024
"""Planned lengths are multiples of this, where they are not the model's own."""
_LEAST_SEQS = 8


@dataclass(frozen=True, slots=True)
class Sizing:
    """A pool at one tensor parallel size."""

    tensor_parallel_size: int
    bill: MemoryBill
    activations: Activations
    shortfall: int
    """Bytes that are missing before the first block of KV cache; 0 if none."""
    max_model_len: int
    """Given, or planned; 0 if no length fits."""
    max_num_seqs: int
    batched_tokens: int
    longest_len: int
    """Longest single request that the KV cache holds."""
    blocks: int
    layout: KvLayout | None

    @property
    def blocks_per_request(self) -> int:
        """Blocks that one request of maxModelLen takes."""
        return self.layout.request_blocks(self.max_model_len) if self.layout else 0

    @property
    def request_bytes(self) -> int:
        """KV cache of one request of maxModelLen, on one GPU."""
        return self.blocks_per_request * self.layout.block_bytes if self.layout else 0

    @property
    def holds_request(self) -> bool:
        """Whether one request of maxModelLen fits. One block is the engine's null block."""
        if self.layout is None:
            return self.shortfall == 0
        return self.max_model_len > 0 and 0 < self.blocks_per_request <= self.blocks - 1

    @property
    def states_suffice(self) -> bool:
        """Whether every sequence of a batch can have its constant state: the engine refuses more than blocks."""
        return self.layout is None or not self.layout.state_pages or self.max_num_seqs <= self.blocks

    @property
    def kv_cache_tokens(self) -> int | None:
        """Tokens of the KV cache, as this version of the engine prints them; None where nothing is kept."""
        if self.layout is None:
            return None
        return self.layout.printed_tokens(self.blocks, self.max_model_len or 1)

    @property
    def max_concurrency(self) -> float | None:
        """Requests of maxModelLen at once, as vLLM prints it."""
        return round(self.blocks / self.blocks_per_request, 2) if self.blocks_per_request else None


def size(facts: ModelFacts, gpu: GpuType, tp: int, request: Request, by: Coefficients = FITTED) -> Sizing:
    """The pool at tensor parallel size `tp`: given values kept, the others planned."""
    cap = request.max_num_seqs or request.default_seqs(gpu)
    first = _sized(facts, gpu, tp, request, cap, by)
    if request.max_num_seqs or first.layout is None:
        return first
    seqs = min(cap, _at_once(first, request))
    sized = first if seqs == cap else _sized(facts, gpu, tp, request, seqs, by)
    while not useful(sized, facts, request, USEFUL_LEN) and seqs > _LEAST_SEQS and _sampler_bound(sized):
        seqs //= 2
        sized = _sized(facts, gpu, tp, request, seqs, by)
    return replace(sized, max_model_len=first.max_model_len) if seqs != cap and first.holds_request else sized


def _at_once(first: Sizing, request: Request) -> int:
    """Sequences that the KV cache holds: requests of the workload, and for every one its constant state."""
    if first.layout is None:
        return first.max_num_seqs
    at_once = first.blocks - 1 if first.layout.state_pages else first.max_num_seqs
    if request.request_tokens:
        at_once = min(at_once, (first.blocks - 1) // first.layout.request_blocks(request.request_tokens, settled=True))
    return max(1, at_once)


def _sampler_bound(sizing: Sizing) -> bool:
    """Whether fewer sequences would leave more: their logits are the peak of the profile run."""
    parts = sizing.activations
    return parts.sampler > max(parts.forward, parts.encoder)


def _sized(facts: ModelFacts, gpu: GpuType, tp: int, request: Request, seqs: int, by: Coefficients) -> Sizing:
    batch = request.batch(facts, gpu, seqs)
    peak = activations(facts, tp, batch, request.version, by)
    bill, shortfall = _bill(facts, gpu, tp, request, batch, peak, by)
    layout = kv_layout(facts.attention, request.cache(facts, gpu, tp, batch.tokens))
    blocks = bill.kv_cache_bytes // layout.block_bytes if layout else 0
    longest = layout.longest(blocks, facts.longest_len) if layout else facts.longest_len
    return Sizing(
        tensor_parallel_size=tp,
        bill=bill,
        activations=peak,
        shortfall=shortfall,
        max_model_len=request.max_model_len or _planned_len(facts, request, layout, blocks, longest),
        max_num_seqs=seqs,
        batched_tokens=batch.tokens,
        longest_len=longest,
        blocks=blocks,
        layout=layout,
    )


def _bill(
    facts: ModelFacts, gpu: GpuType, tp: int, request: Request, batch: Batch, peak: Activations, by: Coefficients
) -> tuple[MemoryBill, int]:
    weights = memory.weights(facts, tp, whole_encoder=request.whole_encoder)
    if request.speculation and request.speculation.layers:
        weights += memory.draft_weights(facts, tp, own=request.speculation.own_weights)
    causes = overheads(facts, gpu, tp, batch.seqs, request.version, eager=request.has(EAGER), by=by)
    overhead = sum(part for _, part in causes)
    usable = memory.requested(gpu.memory_bytes, request.utilization)
    left = usable - weights - peak.peak - overhead
    if request.kv_cache_bytes is not None:
        left = min(request.kv_cache_bytes, gpu.memory_bytes - weights - peak.peak - overhead)
    bill = MemoryBill(
        gpu_bytes=gpu.memory_bytes,
        usable_bytes=usable,
        weights_bytes=weights,
        activation_bytes=peak.peak,
        overhead_bytes=overhead,
        overhead_causes=causes,
        kv_cache_bytes=max(0, left),
        kv_cache_bytes_per_token=kv_bytes_per_token(facts, tp, request),
    )
    return bill, max(0, -left)


def kv_bytes_per_token(facts: ModelFacts, tp: int, request: Request) -> int:
    """What one more token of a long request takes on one rank.

    Layers with a window count only where no other layer keeps every token: beyond the window they take nothing.
    """
    dtype = request.kv_dtype(facts)
    rows = [(group, token_bytes(group, tp, dtype, request.version)) for group in facts.attention]
    growing = [(group, row) for group, row in rows if group.window is None and row]
    total = sum(group.count * row + group.indexers * indexer_bytes(group) for group, row in growing or rows)
    if not total:
        layout = [group for group in facts.attention if group.compression]
        total = sum(_compressed_row(ratio) for group in layout for ratio in group.compression)
    return total


def _compressed_row(ratio: int) -> int:
    """A latent of 584 bytes for `ratio` tokens, and at the finest ratio a key of the indexer."""
    return 0 if ratio == 0 else (584 + (132 if ratio == 4 else 0)) // ratio


def _planned_len(facts: ModelFacts, request: Request, layout: KvLayout | None, blocks: int, longest: int) -> int:
    """The model's own length, or the longest below it that leaves a useful concurrency, rounded down."""
    if layout is None:
        return facts.default_len
    shared = layout.longest(blocks // USEFUL_CONCURRENCY, facts.default_len)
    least = max(USEFUL_LEN, request.request_tokens or 0)
    length = min(facts.default_len, shared if shared >= least else min(longest, least))
    return length if length == facts.default_len else length // _STEP * _STEP or length


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
