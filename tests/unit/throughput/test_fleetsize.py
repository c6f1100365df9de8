import dataclasses
import itertools

import pytest

from inference_fleet.throughput.advice import advice
from inference_fleet.throughput.fleetsize import (
    Candidate,
    Option,
    cheapest_mix,
    size_fleet,
    transfer_rate,
)
from inference_fleet.throughput.slo import Lengths, Load, Slo, Traffic
from tests.unit.planning.shapes import H100
from tests.unit.throughput.replicas import H200, dense_8b, dense_70b_fp8, replica

TRAFFIC = Traffic(Lengths(1000, 2000), Lengths(250, 500))
SLO = Slo(ttft=2.0, tpot=0.05)
L40S = "NVIDIA-L40S"


def candidate(gpu: str = H100, tp: int = 2, price: float | None = 3.0) -> Candidate:
    return Candidate(gpu, 8, price, replica(dense_70b_fp8(), gpu, tp))


def option(rate: float, price: float, gpu: str = "a") -> Option:
    """A fleet of one-GPU replicas of a known capacity."""
    kind = Candidate(gpu, 8, price, replica(dense_8b()))
    limit = Load(rate, 1, 0.1, 0.01, fits=True)
    return Option(kind, limit, limit, replicas=1)


def test_a_fleet_serves_the_demand_with_whole_replicas_and_nodes() -> None:
    (found,), missed = size_fleet([candidate()], TRAFFIC, SLO, 100)
    assert missed == ()
    assert (found.replicas - 1) * found.limit.rate < 100 <= found.replicas * found.limit.rate
    assert found.gpus == 2 * found.replicas
    assert found.candidate.nodes(found.replicas) == -(-found.replicas // 4)
    assert found.cost == pytest.approx(3.0 * found.gpus)
    assert found.load.keeps(SLO)
    assert found.load.rate == pytest.approx(100 / found.replicas, rel=0.01)


def test_the_cheapest_fleet_comes_first_and_gpus_count_where_there_are_no_prices() -> None:
    kinds = [candidate(tp=tp, price=None) for tp in (8, 4, 2)]
    options, _ = size_fleet(kinds, TRAFFIC, SLO, 50)
    assert [found.cost for found in options] == sorted(found.gpus for found in options)


def test_what_misses_the_slo_says_by_how_much() -> None:
    options, missed = size_fleet([candidate(tp=2)], TRAFFIC, Slo(2.0, 0.005), 10)
    assert options == ()
    assert missed[0].lone.tpot > 0.005
    (sentence,) = advice(options, missed, Slo(2.0, 0.005))
    assert "across nodes is advised against" in sentence


def test_a_small_replica_serves_what_a_whole_large_one_would_leave_idle() -> None:
    large, small = option(10.0, 8.0, "large"), option(2.0, 2.0, "small")
    large = dataclasses.replace(large, replicas=5)
    small = dataclasses.replace(small, replicas=21)
    parts = cheapest_mix([large, small], 42)
    assert [(part.candidate.gpu, part.replicas) for part in parts] == [("large", 4), ("small", 1)]


@pytest.mark.parametrize("rate", [0.3, 5.0, 17.0, 63.0])
def test_the_mix_is_the_cheapest_of_all_pairs(rate: float) -> None:
    kinds = [option(7.0, 5.0, "a"), option(3.1, 2.2, "b"), option(1.2, 1.1, "c")]
    kinds = [dataclasses.replace(kind, replicas=max(1, -int(-rate // kind.limit.rate))) for kind in kinds]
    cost = sum(part.candidate.cost(part.replicas) for part in cheapest_mix(kinds, rate))
    counts = range(70)
    cheapest = min(
        first * one.candidate.cost(1) + second * two.candidate.cost(1)
        for one, two in itertools.product(kinds, kinds)
        for first, second in itertools.product(counts, counts)
        if first * one.limit.rate + second * two.limit.rate >= rate
    )
    assert cost == pytest.approx(cheapest)


def test_wider_than_needed_and_over_pcie_are_advised_against() -> None:
    kinds = [candidate(H200, tp) for tp in (2, 8)] + [candidate(L40S, 4, 1.0)]
    options, missed = size_fleet(kinds, TRAFFIC, SLO, 50)
    sentences = advice(options, missed, SLO)
    assert any("tensorParallelSize 8 on NVIDIA-H200 is wider than needed" in sentence for sentence in sentences)
    assert any(sentence.startswith("NVIDIA-L40S has no NVLink") for sentence in sentences)


def test_the_network_of_a_split_carries_the_cache_of_every_prompt() -> None:
    one = candidate().replica
    assert transfer_rate(one, TRAFFIC, 10) == 10 * 1000 * 80 * 2 * 8 * 128 * 2
    assert transfer_rate(candidate(tp=8).replica, TRAFFIC, 10) == transfer_rate(one, TRAFFIC, 10)
