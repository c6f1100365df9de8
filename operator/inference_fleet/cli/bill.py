"""The memory bill as lines that a person can check by hand: a label, a figure and where the figure comes from."""

from dataclasses import dataclass

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB, GpuCatalog
from inference_fleet.catalog.layers import Attention, AttentionLayers
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.activations import (
    Activations,
    Batch,
    activations,
    attention_width,
    bytes_per_logit,
    latent_workspace,
    mlp_width,
)
from inference_fleet.planning.coefficients import FITTED
from inference_fleet.planning.kvcache import KvLayout
from inference_fleet.planning.layout import kv_layout
from inference_fleet.planning.memory import ELEMENT
from inference_fleet.planning.pages import indexer_bytes, token_bytes
from inference_fleet.planning.plan import LockedEngine, MemoryBill, PoolPlan
from inference_fleet.planning.planner import merged_engine
from inference_fleet.planning.request import Request, read_request

_SEQS_PER_GB = 32
"""The rule of thumb for a 7B model in 16 bits."""


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
    engine, bill, tp = plan.engine, plan.memory, plan.engine.tensor_parallel_size
    request = read_request(merged_engine(spec, pool), spec.workload, engine_version(engine.image))
    batch = request.batch(facts, gpu, engine.max_num_seqs or request.default_seqs(gpu))
    layout = kv_layout(facts.attention, request.cache(facts, gpu, tp, batch.tokens))
    return [
        Line("GPU memory", _gib(bill.gpu_bytes), f"{bill.gpu_bytes} bytes, as torch reports it"),
        Line(f"x gpuMemoryUtilization {engine.gpu_memory_utilization:g}", _gib(bill.usable_bytes), "rounded up"),
        Line("- weights", _gib(bill.weights_bytes), _weights(tp, facts)),
        Line("- activations", _gib(bill.activation_bytes), _activations(tp, facts, batch, request)),
        *(Line(f"- {cause}", _gib(amount)) for cause, amount in bill.overhead_causes),
        *_kv_lines(plan, engine, bill, facts, request, layout),
    ]


def _kv_lines(
    plan: PoolPlan,
    engine: LockedEngine,
    bill: MemoryBill,
    facts: ModelFacts,
    request: Request,
    layout: KvLayout | None,
) -> list[Line]:
    lines = [Line("= KV cache", _gib(bill.kv_cache_bytes), f"{bill.kv_cache_bytes} bytes")]
    if request.kv_cache_bytes is not None:
        lines = [Line("KV cache", _gib(bill.kv_cache_bytes), "--kv-cache-memory-bytes of extraArgs, not what is left")]
    if layout is None:
        return lines
    tp, length = engine.tensor_parallel_size, engine.max_model_len or 0
    rows = " + ".join(text for group in facts.attention if (text := _row(group, tp, facts, request)))
    lines.append(Line("bytes per token", str(bill.kv_cache_bytes_per_token), rows))
    blocks = bill.kv_cache_bytes // layout.block_bytes
    lines.append(Line("/ bytes per block", str(layout.block_bytes), f"{blocks} blocks: {_groups(layout)}"))
    if plan.kv_cache_tokens is not None:
        how = "concurrency x maxModelLen" if request.version.prints_capacity else "blocks per group x block"
        lines.append(Line("= tokens", str(plan.kv_cache_tokens), f"as the engine prints it: {how}"))
    if plan.max_concurrency is not None:
        need = layout.request_blocks(length)
        source = f"{blocks} blocks / {need}, which a request of {length} tokens needs"
        lines.append(Line("/ maxModelLen = concurrency", f"{plan.max_concurrency:.2f}", source))
    thumb = int(bill.kv_cache_bytes / 1e9 * _SEQS_PER_GB)
    lines.append(Line("maxNumSeqs", str(engine.max_num_seqs), f"rule of thumb, 32 per free GB for a 7B: {thumb}"))
    return lines


def _weights(tp: int, facts: ModelFacts) -> str:
    how = "estimated " if facts.weights_estimated else ""
    return f"{how}{facts.weights_bytes} bytes / {tp}, and what each rank keeps whole"


def _activations(tp: int, facts: ModelFacts, batch: Batch, request: Request) -> str:
    parts: Activations = activations(facts, tp, batch, request.version)
    if parts.cause == "sampler":
        logits = batch.seqs * facts.vocab_size
        each = bytes_per_logit(request.version, logits)
        return f"the sampler: {batch.seqs} x {facts.vocab_size} logits x {each:g} bytes"
    if parts.cause == "encoder":
        return f"the encoder over {batch.tokens} tokens' worth of patches"
    widest = max(attention_width(facts, tp), mlp_width(facts, tp))
    latents = latent_workspace(facts, tp, batch, request.version)
    unpacked = f" + {_gib(latents)} for latents" if latents else ""
    factor = f"{FITTED.forward:g} x " if FITTED.forward != 1 else ""
    return f"one layer: {factor}{batch.tokens} x {ELEMENT} x (3 x {facts.hidden_size} + {widest}){unpacked}"


def _row(group: AttentionLayers, tp: int, facts: ModelFacts, request: Request) -> str:
    row = token_bytes(group, tp, request.kv_dtype(facts), request.version)
    if not row:
        return ""
    window = f" within {group.window}" if group.window else ""
    indexers = f" + {group.indexers} indexers x {indexer_bytes(group)}" if group.indexers else ""
    heads = ""
    if group.kind is not Attention.MLA:
        heads = f" ({max(1, group.kv_heads // tp)} KV heads x ({group.key_dim} + {group.value_dim}))"
    return f"{group.count} {group.kind} layers x {row}{heads}{window}{indexers}"


def _groups(layout: KvLayout) -> str:
    def one(kind: str, times: int, block: int) -> str:
        return f"{times} x {kind}" if kind == Attention.LINEAR else f"{times} x {kind} of {block} tokens"

    return ", ".join(one(cache.kind, times, cache.block) for cache, times in layout.groups)


def _gib(amount: int) -> str:
    return f"{amount / GIB:.2f} GiB"
