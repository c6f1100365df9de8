"""Verdicts about memory: what is too large, by how much, and what would fit instead."""

from inference_fleet.api.conditions import Reason
from inference_fleet.catalog.gpus import GIB, GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.checks import PoolInput, split_of
from inference_fleet.planning.parallelism import legal_sizes
from inference_fleet.planning.plan import Problem
from inference_fleet.planning.sizing import LEAST_LEN, Sizing, smallest, useful


def sizing_problems(given: PoolInput, gpu: GpuType, facts: ModelFacts, sizing: Sizing) -> tuple[Problem, ...]:
    """What is wrong with a sizing, or worth knowing of it."""
    found = (memory_problem(given, gpu, facts, sizing), _states(sizing), _slow_links(gpu, sizing))
    return tuple(problem for problem in found if problem is not None)


def _states(sizing: Sizing) -> Problem | None:
    """vLLM refuses more sequences than there are blocks for constant states, after it has checked the length."""
    if sizing.states_suffice or not sizing.holds_request:
        return None
    message = (
        f"maxNumSeqs is {sizing.max_num_seqs}, but the KV cache has {sizing.blocks} blocks for the constant states of "
        f"sequences; {sizing.blocks} is the most."
    )
    return Problem(Reason.KV_CACHE_TOO_SMALL, message)


def _slow_links(gpu: GpuType, sizing: Sizing) -> Problem | None:
    if sizing.tensor_parallel_size == 1 or gpu.nvlink:
        return None
    message = (
        f"tensorParallelSize {sizing.tensor_parallel_size} on {gpu.product} exchanges every layer's result over PCIe: "
        "it works, and tokens come slower than from one GPU that holds the model."
    )
    return Problem(Reason.INVALID_PARALLELISM, message, warning=True)


def memory_problem(given: PoolInput, gpu: GpuType, facts: ModelFacts, sizing: Sizing) -> Problem | None:
    """Why a sizing does not serve, None if it does.

    Where the architecture is only roughly known, only weights that surely do not fit refuse a plan.
    """
    if useful(sizing, facts, given.request, LEAST_LEN):
        return None
    rough = bool(facts.approximations)
    works = _what_works(given, gpu, facts)
    bill, tp = sizing.bill, sizing.tensor_parallel_size
    limit = (
        f"the {_gib(bill.usable_bytes)} that gpuMemoryUtilization {given.request.utilization:g} leaves of {gpu.product}"
    )
    if sizing.shortfall:
        message = (
            f"with tensorParallelSize {tp} the weights take {_gib(bill.weights_bytes)} per GPU, activations "
            f"{_gib(bill.activation_bytes)} and overhead {_gib(bill.overhead_bytes)}: "
            f"{_gib(sizing.shortfall)} more than {limit}. {works}"
        )
        surely = bill.weights_bytes >= bill.usable_bytes and not (rough and facts.weights_estimated)
        return Problem(Reason.MODEL_TOO_LARGE, message, warning=rough and not surely)
    kv = f"{_gib(bill.kv_cache_bytes)} of KV cache per GPU at {bill.kv_cache_bytes_per_token} bytes per token"
    if given.request.max_model_len is not None:
        need = sizing.request_bytes
        message = (
            f"maxModelLen {sizing.max_model_len} needs {_gib(need)} of KV cache per GPU for one request, but "
            f"tensorParallelSize {tp} on {gpu.product} leaves {kv}. The longest length that fits is "
            f"{min(sizing.longest_len, facts.longest_len)}. {works}"
        )
        return Problem(Reason.CONTEXT_TOO_LONG, message, warning=rough)
    wanted = (
        f"a request of the workload has {given.request.request_tokens}"
        if given.request.request_tokens
        else "no service"
    )
    message = (
        f"tensorParallelSize {tp} on {gpu.product} leaves {kv}: {sizing.longest_len} tokens are the longest request, "
        f"{wanted}. {works}"
    )
    return Problem(Reason.KV_CACHE_TOO_SMALL, message, warning=rough)


def _what_works(given: PoolInput, gpu: GpuType, facts: ModelFacts) -> str:
    """Another size on this type, and the type of the catalogue that serves with the least memory."""
    split = split_of(given.request)
    here = smallest(facts, gpu, legal_sizes(facts, gpu.gpus_per_node, split), given.request)
    options = [f"tensorParallelSize {here.tensor_parallel_size}"] if here is not None else []
    others = []
    for other in given.catalog.types:
        if other.vendor != gpu.vendor or other.memory_bytes <= gpu.memory_bytes or (gpu.bf16 and not other.bf16):
            continue
        found = smallest(facts, other, legal_sizes(facts, other.gpus_per_node, split), given.request)
        if found is not None:
            others.append((found.tensor_parallel_size, other.memory_bytes, other.product))
    if others:
        tp, _, product = min(others)
        options.append(f"gpu {product} with tensorParallelSize {tp}")
    return f"What would work: {', or '.join(options)}." if options else "No GPU type of the catalogue fits it."


def _gib(count: int) -> str:
    return f"{count / GIB:.2f} GiB"
