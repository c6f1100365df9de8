"""From a demand to a fleet: for each GPU type and tensor parallel size how many replicas, GPUs and nodes, at what cost.

Replicas are within one node: across nodes every layer's all-reduce would cross the network.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference_fleet.throughput.estimate import Replica
from inference_fleet.throughput.slo import Load, Slo, Traffic, capacity, load, load_at

_REMAINDERS = 64
"""How many replicas of the larger part of a mix are given up in search of a cheaper remainder."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A replica that a fleet may be made of."""

    gpu: str
    gpus_per_node: int
    price: float | None
    """Of one GPU for one hour."""
    replica: Replica

    @property
    def tp(self) -> int:
        """GPUs of the replica."""
        return self.replica.engine.tp

    def cost(self, replicas: int) -> float:
        """Per hour; GPUs where there are no prices."""
        return replicas * self.tp * (1.0 if self.price is None else self.price)

    def nodes(self, replicas: int) -> int:
        """Nodes that hold so many replicas."""
        return math.ceil(replicas / max(1, self.gpus_per_node // self.tp))


@dataclass(frozen=True, slots=True)
class Option:
    """A fleet of one kind of replica that serves the demand. `limit` is a replica at its most, `load` as it is used."""

    candidate: Candidate
    limit: Load
    load: Load
    replicas: int

    @property
    def gpus(self) -> int:
        """GPUs of the fleet."""
        return self.replicas * self.candidate.tp

    @property
    def cost(self) -> float:
        """Per hour; GPUs where there are no prices."""
        return self.candidate.cost(self.replicas)

    @property
    def value(self) -> float:
        """Requests per second for each unit of cost of a full replica."""
        return self.limit.rate / self.candidate.cost(1)


@dataclass(frozen=True, slots=True)
class Missed:
    """A replica that cannot keep the SLO, not even for a lone request: the load that it would have."""

    candidate: Candidate
    lone: Load


@dataclass(frozen=True, slots=True)
class Part:
    """Replicas of one kind in a mix."""

    candidate: Candidate
    replicas: int


def size_fleet(
    candidates: Iterable[Candidate], traffic: Traffic, slo: Slo, rate: float
) -> tuple[tuple[Option, ...], tuple[Missed, ...]]:
    """The fleets of one kind that serve `rate` requests per second within the SLO, cheapest first, and what cannot."""
    options, missed = [], []
    for candidate in candidates:
        limit = capacity(candidate.replica, traffic, slo)
        if limit is None:
            missed.append(Missed(candidate, load(candidate.replica, traffic, 1e-3)))
            continue
        replicas = max(1, math.ceil(rate / limit.rate - 1e-9))
        used = load_at(candidate.replica, traffic, rate / replicas, limit)
        options.append(Option(candidate, limit, used, replicas))
    options.sort(key=lambda option: (option.cost, option.gpus, option.candidate.tp))
    return tuple(options), tuple(missed)


def cheapest_mix(options: Sequence[Option], rate: float) -> tuple[Part, ...]:
    """The cheapest fleet of at most two kinds: a smaller replica may serve what remains for a whole large one."""
    best: tuple[float, int, tuple[Part, ...]] | None = None
    for first in options:
        most = first.replicas
        for number in range(most, max(-1, most - _REMAINDERS), -1):
            left = rate - number * first.limit.rate
            for second in options:
                more = max(0, math.ceil(left / second.limit.rate - 1e-9))
                cost = first.candidate.cost(number) + second.candidate.cost(more)
                parts = ((first.candidate, number), (second.candidate, more))
                kinds = tuple(Part(candidate, count) for candidate, count in parts if count)
                if kinds and (best is None or (cost, len(kinds)) < best[:2]):
                    best = (cost, len(kinds), kinds)
    return best[2] if best else ()


def transfer_rate(replica: Replica, traffic: Traffic, rate: float) -> float:
    """Bytes per second from prefill to decode replicas if they were apart: the KV cache of every prompt."""
    engine = replica.engine
    return rate * engine.work.kv_bytes(traffic.input.mean, 1, engine.kv_element)
