"""Latency and throughput of a replica against concurrency: the steady state of clients that always ask again.

Of R running requests B decode and the others read their prompts. Each step B tokens leave, so B / output requests end
and as many prompts begin: a token takes a step and its share of their prefills. B is found so that decoding and
prefilling requests add up to R (Little's law). The KV cache and max_num_seqs bound R; what comes above waits, and
TTFT grows by (C - R) / throughput while nothing else does: past saturation nothing is promised.
"""

from dataclasses import dataclass

from inference_fleet.throughput.roofline import MICRO, Engine

_ROUNDS = 60
_PRECISION = 1e-7


@dataclass(frozen=True, slots=True)
class Replica:
    """An engine and the requests that it holds at once."""

    engine: Engine
    kv_tokens: float | None
    """Tokens of requests of typical lengths that the KV cache holds; None where nothing is kept per token."""
    max_num_seqs: int

    def slots(self, input_tokens: float, output_tokens: float) -> float:
        """Requests that run at once: each ends with its prompt and its whole answer in the cache."""
        if self.kv_tokens is None:
            return float(self.max_num_seqs)
        return min(float(self.max_num_seqs), self.kv_tokens / (input_tokens + output_tokens))


@dataclass(frozen=True, slots=True)
class Point:
    """A replica at a concurrency. Seconds; rates are per second."""

    concurrency: float
    ttft: float
    tpot: float
    output_tokens: float
    requests: float
    running: float
    """Requests that run; fewer than `concurrency` past the knee."""

    @property
    def queued(self) -> bool:
        """Whether requests wait for room."""
        return self.running < self.concurrency


def estimate(replica: Replica, input_tokens: float, output_tokens: float, concurrency: float) -> Point:
    """The steady state of `concurrency` clients with requests of these mean lengths."""
    running = min(concurrency, max(1.0, replica.slots(input_tokens, output_tokens)))
    mix = _Mix(replica.engine, input_tokens, output_tokens, running)
    ttft, tpot = mix.latencies(mix.decoding())
    requests = running / (ttft + (output_tokens - 1) * tpot)
    wait = (concurrency - running) / requests
    return Point(concurrency, ttft + wait, tpot, requests * output_tokens, requests, running)


@dataclass(frozen=True, slots=True)
class _Mix:
    """`running` requests on an engine, of which some decode and the others read their prompts."""

    engine: Engine
    input_tokens: float
    output_tokens: float
    running: float

    def latencies(self, decoding: float) -> tuple[float, float]:
        """TTFT and TPOT while `decoding` requests decode."""
        engine, c = self.engine, self.engine.coefficients
        context = self.input_tokens + self.output_tokens / 2
        batch = max(decoding, min(1.0, self.running))
        others = (self.running - 1) / self.running if self.running > 1 else 0.0
        step = engine.step(batch, context)
        prefill = engine.prefill(self.input_tokens, batch, context)
        disturbance = prefill - engine.chunks(self.input_tokens) * step
        tpot = step + others * batch / self.output_tokens * disturbance
        alone = engine.prefill(self.input_tokens)
        waiting = c.waiting * others * self.running * disturbance
        return c.request * MICRO + alone + others * (prefill - alone) + waiting, tpot

    def decoding(self) -> float:
        """The number that decode: with those in prefill it makes `running`. False position, as it grows with it."""

        def surplus(decoding: float) -> float:
            ttft, tpot = self.latencies(decoding)
            return decoding * (1 + ttft / (self.output_tokens * tpot)) - self.running

        low, high = 0.0, self.running
        below, above = -self.running, surplus(high)
        for _ in range(_ROUNDS):
            middle = (low * above - high * below) / (above - below)
            found = surplus(middle)
            if abs(found) <= _PRECISION * self.running:
                break
            if found > 0:
                high, above, below = middle, found, below / 2
            else:
                low, below, above = middle, found, above / 2
        return middle
