"""The time of one engine step: weights and KV bytes over bandwidth, operations over a rate, and fixed costs.

    step = (weights ^ compute) + KV + attention + all-reduce + step + sequences + layers x (layer + split x log2 TP)

`^` joins reading weights and multiplying them, which overlap: the square root of the sum of squares, near the larger
of the two when they differ. An ideal roofline (efficiency 1, no fixed cost) is 2 to 3.5 times too fast; what is fixed
per layer, and per layer and doubling of the tensor parallel size, does not shrink with more GPUs.
"""

import math
from dataclasses import dataclass

from inference_fleet.throughput.coefficients import Coefficients, Speed
from inference_fleet.throughput.work import ELEMENT, ModelWork

MICRO = 1e-6


@dataclass(frozen=True, slots=True)
class Engine:
    """A model on `tp` GPUs of one type."""

    work: ModelWork
    speed: Speed
    coefficients: Coefficients
    tp: int
    kv_element: float
    """Bytes of a stored key or value element."""
    batched_tokens: int
    """max_num_batched_tokens: the largest chunk of a prompt."""

    def step(self, sequences: float, context: float, prompt: float = 0.0, past: float = 0.0) -> float:
        """Seconds of a step of `sequences` that decode behind `context` tokens each, and a chunk of a prompt."""
        c = self.coefficients
        tokens = sequences + prompt
        weights = math.hypot(self._weights(tokens), self._products(tokens))
        memory = c.memory * self.speed.bandwidth
        kv = (sequences * self.work.kv_bytes(context, self.tp, self.kv_element)) / memory
        attention = 4 * self.work.query_width * self.work.pairs(prompt, past)
        attention /= c.compute * self.speed.flops16 * self.tp
        return weights + kv + attention + self._all_reduce(tokens) + self._fixed(sequences, prompt)

    def prefill(self, tokens: float, sequences: float = 0.0, context: float = 0.0) -> float:
        """Seconds until a prompt of `tokens` is read, while `sequences` decode in the same steps."""
        return sum(self.step(sequences, context, chunk, past) for chunk, past in self._chunks(tokens))

    def chunks(self, tokens: float) -> int:
        """Steps that a prompt of `tokens` is spread over."""
        return math.ceil(tokens / self.batched_tokens)

    def _chunks(self, tokens: float) -> list[tuple[float, float]]:
        whole, rest = divmod(tokens, self.batched_tokens)
        chunks = [(float(self.batched_tokens), float(self.batched_tokens * number)) for number in range(int(whole))]
        return [*chunks, (rest, tokens - rest)] if rest else chunks

    @property
    def _unpacks(self) -> bool:
        """Whether the weights are of a format that the GPU does not multiply."""
        return self.work.weight_bits < 16 and self.speed.peak(self.work.product_bits) is None

    def _weights(self, tokens: float) -> float:
        c, work = self.coefficients, self.work
        kept = c.unpacked if self._unpacks else 1.0
        narrow = c.memory_narrow if work.product_bits == 4 and not self._unpacks else kept
        plain = work.plain_bytes / (narrow if work.plain_quantized else 1.0)
        experts = work.expert_bytes * work.touched(tokens, c.skew) / (c.memory_experts * kept)
        return (plain + experts) / (c.memory * self.speed.bandwidth * self.tp)

    def _products(self, tokens: float) -> float:
        c, work = self.coefficients, self.work
        low = self.speed.peak(work.product_bits)
        quantized = c.compute_low * low if low else self.speed.flops16 * (c.unpacked if self._unpacks else 1.0)
        plain = work.plain_params / (quantized if work.plain_quantized else self.speed.flops16)
        experts = work.expert_params / (c.compute_experts * quantized)
        return 2 * tokens * (plain + experts) / (c.compute * self.tp)

    def _all_reduce(self, tokens: float) -> float:
        """Two per layer; a ring moves 2 (n - 1) / n of the activations over each link."""
        if self.tp == 1:
            return 0.0
        moved = 2 * (self.tp - 1) / self.tp * tokens * self.work.hidden_size * ELEMENT
        return 2 * self.work.layers * moved / (self.coefficients.link * self.speed.link)

    def _fixed(self, sequences: float, prompt: float) -> float:
        c = self.coefficients
        split = c.split_layer if self.speed.nvlink else c.split_layer_pcie
        layer = c.layer + split * math.log2(self.tp) + (c.prompt_layer if prompt else 0.0)
        if self.work.experts:
            each = c.expert_layer + (c.prompt_expert_layer if prompt else 0.0)
            each += c.unpacked_layer if self._unpacks else 0.0
            layer += each * self.work.experts_per_token
        layers = self.work.layers * layer + self.work.latent_layers * c.latent_layer
        return MICRO * (c.step + c.sequence * sequences + c.latency * layers)
