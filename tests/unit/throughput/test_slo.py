import itertools
import math

import pytest

from inference_fleet.throughput.slo import Lengths, Slo, Traffic, capacity, load, load_at
from tests.unit.throughput.replicas import dense_8b, dense_32b, replica

STEADY = Traffic(Lengths(1000, 1000), Lengths(250, 250))
MIXED = Traffic(Lengths(1000, 3000), Lengths(250, 800))
SLO = Slo(ttft=2.0, tpot=0.05)


def test_the_variation_is_that_of_a_log_normal_of_this_mean_and_p95() -> None:
    lengths = Lengths(1000, 3000)
    sigma = math.sqrt(math.log1p(lengths.variation))
    assert math.exp(1.645 * sigma - sigma**2 / 2) == pytest.approx(3.0)
    assert Lengths(1000, 1000).variation == pytest.approx(0)
    assert Lengths(10, 1000).variation == pytest.approx(Lengths(10, 39).variation, rel=0.2)  # the widest there is


def test_more_requests_are_slower() -> None:
    found = replica(dense_8b())
    loads = [load(found, MIXED, concurrency) for concurrency in (0.01, 1, 8, 32, 100)]
    for before, after in itertools.pairwise(loads):
        assert after.rate > before.rate
        assert after.tpot > before.tpot
        assert after.ttft >= before.ttft


def test_capacity_is_just_within_the_slo() -> None:
    found = replica(dense_8b())
    for slo in (SLO, Slo(ttft=2.0, tpot=0.012), Slo(ttft=0.15, tpot=1.0)):
        limit = capacity(found, STEADY, slo)
        assert limit is not None
        assert limit.keeps(slo)
        assert not load(found, STEADY, 1.05 * limit.concurrency).keeps(slo)


def test_a_looser_slo_never_serves_less() -> None:
    found = replica(dense_8b())
    rates = []
    for tpot in (0.009, 0.012, 0.02, 0.05, 0.2):
        limit = capacity(found, MIXED, Slo(2.0, tpot))
        assert limit is not None
        rates.append(limit.rate)
    assert rates == sorted(rates)


def test_requests_of_uneven_lengths_leave_less_room() -> None:
    found = replica(dense_32b(), tp=2)
    steady, mixed = (capacity(found, traffic, Slo(60.0, 60.0)) for traffic in (STEADY, MIXED))
    assert steady is not None
    assert mixed is not None
    assert mixed.concurrency < steady.concurrency < found.slots(1000, 250)


def test_an_slo_out_of_reach_has_no_capacity() -> None:
    assert capacity(replica(dense_8b()), STEADY, Slo(ttft=2.0, tpot=0.001)) is None
    assert capacity(replica(dense_8b()), STEADY, Slo(ttft=0.001, tpot=1.0)) is None


def test_the_load_at_a_rate_has_that_rate() -> None:
    found = replica(dense_8b())
    limit = capacity(found, MIXED, SLO)
    assert limit is not None
    half = load_at(found, MIXED, limit.rate / 2, limit)
    assert half.rate == pytest.approx(limit.rate / 2, rel=0.01)
    assert half.concurrency < limit.concurrency
