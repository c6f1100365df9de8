"""Which tensor parallel sizes a model can be split into.

vLLM asks that the size divides the attention heads, and that it divides the KV heads or is a multiple of them (40
heads with 10 KV heads: 1, 2, 5, 10); the heads of linear layers and of an encoder must divide, too. A quantised layer's
share must keep whole blocks of scales, unless ranks hold whole experts. Ranks of a replica sit in one node.
"""

from collections.abc import Callable
from dataclasses import dataclass

from inference_fleet.catalog.models import ModelFacts

SIZES = (1, 2, 4, 8, 16)
"""What `tensorParallelSize` may be."""


def head_divisors(facts: ModelFacts) -> tuple[int, ...]:
    """Sizes that divide the attention heads."""
    heads = facts.attention_heads
    return tuple(size for size in range(1, heads + 1) if heads % size == 0)


def kv_heads_allow(facts: ModelFacts, tp: int) -> bool:
    """Whether KV heads are split or replicated evenly. A latent has no KV heads: every rank keeps it."""
    return facts.latent or facts.kv_heads % tp == 0 or tp % facts.kv_heads == 0


def linear_heads_allow(facts: ModelFacts, tp: int) -> bool:
    """Whether the heads of linear layers are split evenly."""
    return all(heads % tp == 0 for heads in facts.linear_heads)


def encoder_allows(facts: ModelFacts, tp: int, *, whole: bool = False) -> bool:
    """Whether the encoder's heads are split evenly, or not split at all."""
    return whole or facts.encoder is None or facts.encoder.heads % tp == 0


def granule_allows(facts: ModelFacts, tp: int, *, expert_parallel: bool = False) -> bool:
    """Whether a rank's share of the MLP keeps whole quantisation blocks; with whole experts, their number counts."""
    if tp == 1:
        return True
    if facts.experts and expert_parallel:
        return facts.experts % tp == 0
    granule = facts.quantization.granule if facts.quantization else None
    if granule is None:
        return facts.expert_width % tp == 0 or not facts.attention
    return facts.expert_width % tp == 0 and facts.expert_width // tp % granule == 0


@dataclass(frozen=True, slots=True)
class Split:
    """How a model is split besides tensor parallelism."""

    expert_parallel: bool = False
    whole_encoder: bool = False


PLAIN = Split()


def legal(facts: ModelFacts, tp: int, split: Split = PLAIN) -> bool:
    """Whether the model can be split into `tp`."""
    return facts.attention_heads % tp == 0 and all(allowed(tp) for _, allowed in _rules(facts, split))


def _rules(facts: ModelFacts, split: Split) -> tuple[tuple[str, Callable[[int], bool]], ...]:
    return (
        (f"{facts.kv_heads} KV heads", lambda tp: kv_heads_allow(facts, tp)),
        (f"{_listed(facts.linear_heads)} heads of linear layers", lambda tp: linear_heads_allow(facts, tp)),
        (
            f"{facts.encoder.heads if facts.encoder else 0} heads of the encoder",
            lambda tp: encoder_allows(facts, tp, whole=split.whole_encoder),
        ),
        (
            _granule_rule(facts, split),
            lambda tp: granule_allows(facts, tp, expert_parallel=split.expert_parallel),
        ),
    )


def legal_sizes(facts: ModelFacts, gpus_per_node: int, split: Split = PLAIN) -> tuple[int, ...]:
    """Sizes that can be set and fit a node, smallest first."""
    return tuple(tp for tp in SIZES if tp <= gpus_per_node and legal(facts, tp, split))


def explain(facts: ModelFacts, gpus_per_node: int, split: Split = PLAIN) -> str:
    """The legal sizes, rule by rule."""
    sizes = head_divisors(facts)
    text = f"legal sizes by the {facts.attention_heads} attention heads: {_listed(sizes)}"
    rules = [*_rules(facts, split), (f"a node of {gpus_per_node} GPUs", lambda tp: tp in SIZES and tp <= gpus_per_node)]
    for rule, allows in rules:
        allowed = tuple(tp for tp in sizes if allows(tp))
        if allowed != sizes:
            text += f"; of these {rule} allow{'s' if rule.startswith('a ') else ''} {_listed(allowed)}"
            sizes = allowed
    return text


def _granule_rule(facts: ModelFacts, split: Split) -> str:
    if facts.experts and split.expert_parallel:
        return f"{facts.experts} whole experts"
    granule = facts.quantization.granule if facts.quantization else None
    if granule is None:
        return f"equal shares of an intermediate size of {facts.expert_width}"
    return f"quantisation blocks of {granule} in an intermediate size of {facts.expert_width}"


def _listed(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes)) or "none"
