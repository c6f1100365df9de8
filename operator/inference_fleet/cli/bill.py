"""The memory bill as lines that a person can check by hand: a label, a figure and where the figure comes from."""

from dataclasses import dataclass

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB, GpuCatalog, GpuType
from inference_fleet.catalog.models import Attention, AttentionLayers, ModelFacts
from inference_fleet.planning.memory import ELEMENT
from inference_fleet.planning.plan import LockedEngine, MemoryBill, PoolPlan
from inference_fleet.planning.planner import merged_engine
from inference_fleet.planning.request import Request, read_request


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a bill."""

    label: str
    figure: str
    source: str = ""


def bill_lines(spec: InferenceServiceSpec, plan: PoolPlan, facts: ModelFacts | None, catalog: GpuCatalog) -> list[Line]:
    """The bill of a pool; empty where no memory was counted."""
    gpu = catalog.find(plan.gpu)
    if facts is None or gpu is None or plan.memory is None or plan.engine is None:
        return []
    pool = next(pool for pool in spec.pools if pool.name == plan.name)
    engine, bill = plan.engine, plan.memory
    request = read_request(merged_engine(spec, pool), spec.workload, engine_version(engine.image))
    return [
        Line("GPU memory", _gib(bill.gpu_bytes), f"{bill.gpu_bytes} bytes, as torch reports it"),
        Line(f"x gpuMemoryUtilization {engine.gpu_memory_utilization:g}", _gib(bill.usable_bytes), "rounded up"),
        Line("- weights", _gib(bill.weights_bytes), _weights(engine, facts)),
        Line("- activations", _gib(bill.activation_bytes), _activations(engine, facts, gpu, request)),
        *(Line(f"- {cause}", _gib(amount)) for cause, amount in bill.overhead_causes),
        *_kv_lines(plan, engine, bill, facts, request),
    ]


def _kv_lines(
    plan: PoolPlan, engine: LockedEngine, bill: MemoryBill, facts: ModelFacts, request: Request
) -> list[Line]:
    lines = [Line("= KV cache", _gib(bill.kv_cache_bytes), f"{bill.kv_cache_bytes} bytes")]
    if request.kv_cache_bytes is not None:
        lines = [Line("KV cache", _gib(bill.kv_cache_bytes), "--kv-cache-memory-bytes of extraArgs, not what is left")]
    if not bill.kv_cache_bytes_per_token:
        return lines
    groups = " + ".join(
        _group(group, engine.tensor_parallel_size) for group in facts.attention if group.kv_heads or group.latent_dim
    )
    formula = (
        f"{groups}, x {request.kv_element()} bytes"
        if len(facts.attention) > 1
        else f"{groups} x {request.kv_element()} bytes"
    )
    lines.append(Line("/ bytes per token", str(bill.kv_cache_bytes_per_token), formula))
    if plan.kv_cache_tokens is not None:
        blocks = plan.kv_cache_tokens // request.block
        lines.append(Line("= tokens", str(plan.kv_cache_tokens), f"{blocks} whole blocks of {request.block}"))
    if plan.max_concurrency is not None:
        source = f"requests of {engine.max_model_len} tokens at once"
        lines.append(Line("/ maxModelLen = concurrency", f"{plan.max_concurrency:.2f}", source))
    return lines


def _weights(engine: LockedEngine, facts: ModelFacts) -> str:
    how = "estimated " if facts.weights_estimated else ""
    tp = engine.tensor_parallel_size
    return f"{how}{facts.weights_bytes} bytes / {tp}, and what each rank keeps whole"


def _activations(engine: LockedEngine, facts: ModelFacts, gpu: GpuType, request: Request) -> str:
    seqs = engine.max_num_seqs or gpu.batch_defaults.max_num_seqs
    tokens = request.batch(facts, gpu, seqs).tokens
    if facts.experts:
        return f"{tokens} batched tokens through {facts.experts_per_token} experts"
    tp = engine.tensor_parallel_size
    heads, intermediate = 2 * (facts.attention_heads + facts.kv_heads) * facts.head_dim, 3 * facts.intermediate_size
    widest = f"3 x {facts.intermediate_size}" if intermediate >= heads else str(heads)
    layer = f"{tokens} x {ELEMENT} x (3 x {facts.hidden_size} + {widest} / {tp})"
    return f"the larger of {layer} and {seqs} x {facts.vocab_size} x {request.version.bytes_per_logit}"


def _group(group: AttentionLayers, tp: int) -> str:
    if group.kind is Attention.MLA:
        return f"{group.count} layers x {group.latent_dim}"
    return f"{group.count} layers x {max(1, group.kv_heads // tp)} KV heads x ({group.key_dim} + {group.value_dim})"


def _gib(amount: int) -> str:
    return f"{amount / GIB:.2f} GiB"
