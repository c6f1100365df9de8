"""What a replica serves within an SLO: requests that arrive at random, of random lengths, and the slowest in twenty.

Arrivals are Poisson, lengths log-normal from their mean and P95. The requests in flight then scatter by the square root
of their number, and the KV cache has to hold the busy moments as well: P95 of TPOT is that of a busy moment. P95 of
TTFT is a long prompt read beside the others, behind a queue of prompts for one server (Pollaczek-Khinchine for its
mean, an exponential tail as in heavy traffic).
"""

import math
from dataclasses import dataclass

from inference_fleet.throughput.estimate import Replica, estimate
from inference_fleet.throughput.roofline import MICRO

_Z95 = 1.645
"""P95 of a normal distribution, in standard deviations."""
_LEAST = 1e-3
"""Requests in flight of a replica that is all but idle."""
_ROUNDS = 18


@dataclass(frozen=True, slots=True)
class Lengths:
    """Tokens of prompts or answers."""

    mean: float
    p95: float

    @property
    def variation(self) -> float:
        """The squared coefficient of variation of a log-normal distribution of this mean and P95.

        ln(P95 / mean) = z s - s^2 / 2 has a solution up to P95 = 3.87 means; what is beyond has that of the limit.
        """
        spread = _Z95 - math.sqrt(max(0.0, _Z95**2 - 2 * math.log(self.p95 / self.mean)))
        return math.expm1(spread**2)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the requests of a service look like."""

    input: Lengths
    output: Lengths


@dataclass(frozen=True, slots=True)
class Slo:
    """Bounds in seconds for 95 of 100 requests."""

    ttft: float
    tpot: float


@dataclass(frozen=True, slots=True)
class Load:
    """A replica at a rate of arrivals. Seconds."""

    rate: float
    """Requests per second."""
    concurrency: float
    """Mean requests in flight."""
    ttft: float
    """P95."""
    tpot: float
    """P95."""
    fits: bool
    """Whether the KV cache and max_num_seqs hold the busy moments."""

    def keeps(self, slo: Slo) -> bool:
        """Whether the SLO holds."""
        return self.fits and self.ttft <= slo.ttft and self.tpot <= slo.tpot


def load(replica: Replica, traffic: Traffic, concurrency: float) -> Load:
    """The load that keeps `concurrency` requests in flight on average."""
    given, asked = traffic.input.mean, traffic.output.mean
    mean = estimate(replica, given, asked, concurrency)
    busy = estimate(replica, given, asked, concurrency + _Z95 * math.sqrt(concurrency))
    engine, context = replica.engine, given + asked / 2
    batch = min(mean.running, mean.output_tokens * mean.tpot)
    disturbance = engine.prefill(given, batch, context) - engine.chunks(given) * engine.step(batch, context)
    own = engine.coefficients.request * MICRO + engine.prefill(traffic.input.p95, batch, context)
    queue = _queue_p95(mean.requests, disturbance, traffic.input.variation)
    fits = not busy.queued and _tokens_p95(traffic, concurrency) <= (replica.kv_tokens or math.inf)
    return Load(mean.requests, concurrency, own + queue, busy.tpot, fits)


def capacity(replica: Replica, traffic: Traffic, slo: Slo) -> Load | None:
    """The highest load that keeps the SLO, None where not even a lone request does."""
    low, high = _LEAST, max(_LEAST, replica.slots(traffic.input.mean, traffic.output.mean))
    best = load(replica, traffic, low)
    if not best.keeps(slo):
        return None
    for _ in range(_ROUNDS):
        middle = math.sqrt(low * high)
        found = load(replica, traffic, middle)
        if found.keeps(slo):
            low, best = middle, found
        else:
            high = middle
    return best


def load_at(replica: Replica, traffic: Traffic, rate: float, limit: Load) -> Load:
    """The load at a rate of arrivals that is at most that of `limit`."""
    low, high = _LEAST, limit.concurrency
    for _ in range(_ROUNDS):
        middle = math.sqrt(low * high)
        if estimate(replica, traffic.input.mean, traffic.output.mean, middle).requests < rate:
            low = middle
        else:
            high = middle
    return load(replica, traffic, high)


def _queue_p95(rate: float, service: float, variation: float) -> float:
    """P95 of the time a prompt waits for those before it: P(wait > t) = rho exp(-t rho / mean wait)."""
    rho = rate * service
    if rho >= 1:
        return math.inf
    mean = rate * service**2 * (1 + variation) / (2 * (1 - rho))
    return max(0.0, mean / rho * math.log(rho / 0.05)) if rho > 0 else 0.0


def _tokens_p95(traffic: Traffic, concurrency: float) -> float:
    """P95 of the tokens that the KV cache holds, each request with its prompt and its whole answer."""
    mean = traffic.input.mean + traffic.output.mean
    square = mean**2 + traffic.input.variation * traffic.input.mean**2
    square += traffic.output.variation * traffic.output.mean**2
    return concurrency * mean + _Z95 * math.sqrt(concurrency * square)
