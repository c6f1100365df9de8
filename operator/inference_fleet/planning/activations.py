"""The peak of the profile run: one forward of a full batch, its sampler, or its encoder, whichever holds the most.

The engine runs it before it sizes the KV cache; `max_num_batched_tokens` decides it, not `max_model_len`. The parts
follow each other and their memory is reused, so the largest counts. All figures are bytes on one rank.
"""

from dataclasses import dataclass

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.layers import Attention
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.coefficients import FITTED, Coefficients
from inference_fleet.planning.memory import ELEMENT
from inference_fleet.planning.pages import indexer_bytes

_PLAIN_LOGIT = 6
"""Bytes of a 16-bit logit and its float32 copy."""
_SORTED_LOGIT = 22
"""The same with sorted values, their 64-bit indices and their probabilities; logs of 256 sequences show just that."""
_LARGE_SORT = 1 << 26
"""Entries above which sorting takes workspace: logs of 1024 sequences show more than the tensors."""
_LEAST_ROWS = 8
"""Prompts of full length, of which a profile run unpacks the latents at once."""


@dataclass(frozen=True, slots=True)
class Batch:
    """What the profile run is made with."""

    tokens: int
    """max_num_batched_tokens"""
    seqs: int
    """max_num_seqs"""
    length: int = 0
    """max_model_len; 0: long"""
    images: bool = True
    """Whether encoders are profiled."""


@dataclass(frozen=True, slots=True)
class Activations:
    """The candidates for the peak."""

    forward: int
    sampler: int
    encoder: int

    @property
    def peak(self) -> int:
        """What counts."""
        return max(self.forward, self.sampler, self.encoder)

    @property
    def cause(self) -> str:
        """Which part it is."""
        return {self.forward: "forward", self.encoder: "encoder", self.sampler: "sampler"}[self.peak]


def activations(
    facts: ModelFacts, tp: int, batch: Batch, version: EngineVersion, by: Coefficients = FITTED
) -> Activations:
    """The parts of the profile run."""
    live = 3 * facts.hidden_size + max(attention_width(facts, tp), mlp_width(facts, tp))
    forward = by.forward * batch.tokens * ELEMENT * live + latent_workspace(facts, tp, batch, version)
    logits = batch.seqs * facts.vocab_size
    sampler = logits * bytes_per_logit(version, logits, by)
    encoder = by.encoder * encoder_bytes(facts, tp, batch) if batch.images else 0
    return Activations(int(forward), int(sampler), int(encoder))


def bytes_per_logit(version: EngineVersion, logits: int, by: Coefficients = FITTED) -> float:
    """Peak bytes per entry of the sampler's `logits`."""
    if not version.sorts_logits:
        return _PLAIN_LOGIT
    return _SORTED_LOGIT + (by.sort_workspace if logits > _LARGE_SORT else 0.0)


def attention_width(facts: ModelFacts, tp: int) -> int:
    """Queries, keys, values and the result of attention, or the projections of a linear layer, per token."""
    heads = 2 * (facts.attention_heads + facts.kv_heads) * facts.head_dim
    linear = max((group.state.projected for group in facts.attention if group.state), default=0)
    if facts.up_projected_dim:
        heads = 2 * facts.attention_heads * facts.up_projected_dim
    return max(heads, linear) // tp


def mlp_width(facts: ModelFacts, tp: int) -> int:
    """Gate, up and their product; of experts, for every expert that a token visits, besides their results.

    The fused kernel keeps one buffer for gate and up and then the results (the wider of the two) and one between.
    """
    if not facts.experts:
        return 3 * facts.intermediate_size // tp
    width = facts.moe_intermediate_size // tp
    shared = 3 * facts.shared_expert_size // tp
    return facts.experts_per_token * (max(2 * width, facts.hidden_size) + width) + shared + facts.hidden_size


def latent_workspace(facts: ModelFacts, tp: int, batch: Batch, version: EngineVersion) -> int:
    """What latent attention allocates for a long context in the profile run.

    Keys and values of all heads, unpacked from latents for prefill. Sparse attention reads latents as they are, and
    gathers its indexer's keys instead.
    """
    latent = next((group for group in facts.attention if group.kind is Attention.MLA), None)
    if latent is None:
        return 0
    if latent.indexers:
        return version.indexer_lengths * (batch.length or facts.default_len) * indexer_bytes(latent)
    tokens = min(version.latent_workspace, _LEAST_ROWS * batch.length if batch.length else version.latent_workspace)
    return tokens * -(-facts.attention_heads // tp) * facts.up_projected_dim * ELEMENT


def encoder_bytes(facts: ModelFacts, tp: int, batch: Batch) -> int:
    """One layer of the encoder over all patches of a full budget, its inner widths split over the ranks."""
    encoder = facts.encoder
    if encoder is None:
        return 0
    tokens = max(batch.tokens // encoder.item_tokens, 1) * encoder.item_tokens
    patches = tokens * encoder.patches_per_token
    return patches * ELEMENT * (3 * encoder.hidden + max(4 * encoder.hidden, 2 * encoder.intermediate) // tp)
