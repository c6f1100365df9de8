"""Which tensor parallel sizes a model can be split into.

vLLM asks that the size divides the attention heads, and that it divides the KV heads or is a multiple of them (40
heads with 10 KV heads: 1, 2, 5, 10). A quantised layer's share must keep whole blocks of scales. Ranks of a replica
sit in one node.
"""

from inference_fleet.catalog.models import ModelFacts

SIZES = (1, 2, 4, 8, 16)
"""What `tensorParallelSize` may be."""


def head_divisors(facts: ModelFacts) -> tuple[int, ...]:
    """Sizes that divide the attention heads."""
    heads = facts.attention_heads
    return tuple(size for size in range(1, heads + 1) if heads % size == 0)


def kv_heads_allow(facts: ModelFacts, tp: int) -> bool:
    """Whether KV heads are split or replicated evenly."""
    return facts.kv_heads % tp == 0 or tp % facts.kv_heads == 0


def granule_allows(facts: ModelFacts, tp: int) -> bool:
    """Whether a rank's share of the MLP keeps whole quantisation blocks."""
    granule = facts.quantization.granule if facts.quantization else None
    return granule is None or tp == 1 or (facts.expert_width % tp == 0 and facts.expert_width // tp % granule == 0)


def legal(facts: ModelFacts, tp: int) -> bool:
    """Whether the model can be split into `tp`."""
    return facts.attention_heads % tp == 0 and kv_heads_allow(facts, tp) and granule_allows(facts, tp)


def legal_sizes(facts: ModelFacts, gpus_per_node: int) -> tuple[int, ...]:
    """Sizes that can be set and fit a node, smallest first."""
    return tuple(tp for tp in SIZES if tp <= gpus_per_node and legal(facts, tp))


def explain(facts: ModelFacts, gpus_per_node: int) -> str:
    """The legal sizes, rule by rule."""
    sizes = head_divisors(facts)
    text = f"legal sizes by the {facts.attention_heads} attention heads: {_listed(sizes)}"
    for rule, allowed in (
        (f"{facts.kv_heads} KV heads", tuple(tp for tp in sizes if kv_heads_allow(facts, tp))),
        (_granule_rule(facts), tuple(tp for tp in sizes if kv_heads_allow(facts, tp) and granule_allows(facts, tp))),
        (f"a node of {gpus_per_node} GPUs", legal_sizes(facts, gpus_per_node)),
    ):
        if allowed != sizes:
            text += f"; of these {rule} allow{'s' if rule.startswith('a ') else ''} {_listed(allowed)}"
            sizes = allowed
    return text


def _granule_rule(facts: ModelFacts) -> str:
    quantization = facts.quantization
    granule = quantization.granule if quantization else None
    return f"quantisation blocks of {granule} in an intermediate size of {facts.expert_width}"


def _listed(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes)) or "none"
