import itertools

import pytest

from inference_fleet.catalog.models import ModelFacts
from inference_fleet.throughput.estimate import estimate
from tests.unit.planning.shapes import H100
from tests.unit.throughput.replicas import H200, dense_8b, dense_32b, dense_70b_fp8, experts, replica


@pytest.mark.parametrize("concurrency", [1, 2, 7, 64, 500, 5000])
def test_requests_in_flight_are_throughput_times_latency(concurrency: int) -> None:
    point = estimate(replica(dense_8b()), 1000, 200, concurrency)
    assert point.requests * (point.ttft + 199 * point.tpot) == pytest.approx(concurrency, rel=1e-6)
    assert point.output_tokens == pytest.approx(200 * point.requests)


def test_more_requests_give_more_tokens_more_slowly() -> None:
    points = [estimate(replica(dense_8b()), 1000, 200, c) for c in (1, 2, 4, 8, 16, 32, 64, 128, 256)]
    for before, after in itertools.pairwise(points):
        assert after.output_tokens > before.output_tokens
        assert after.tpot > before.tpot
        assert after.ttft > before.ttft


def test_past_the_knee_only_the_queue_grows() -> None:
    found = replica(dense_8b())
    slots = found.slots(4000, 1000)
    below, at, past, far = (estimate(found, 4000, 1000, c) for c in (int(slots) - 1, slots, 2 * slots, 8 * slots))
    assert not below.queued
    assert not at.queued
    assert past.queued
    assert past.output_tokens == pytest.approx(at.output_tokens)
    assert past.tpot == pytest.approx(at.tpot)
    service = at.ttft + 999 * at.tpot
    assert past.ttft - at.ttft == pytest.approx(service)  # twice the clients: one whole service time of queueing
    assert far.ttft - at.ttft == pytest.approx(7 * service)


def test_prompts_slow_down_those_that_decode() -> None:
    found = replica(dense_32b(), tp=2)
    balanced, heavy = estimate(found, 1024, 1024, 128), estimate(found, 1024, 128, 128)
    assert heavy.tpot > 1.5 * balanced.tpot


def test_an_answer_of_one_token_is_all_prefill() -> None:
    point = estimate(replica(dense_8b()), 1000, 1, 1)
    assert point.requests == pytest.approx(1 / point.ttft)


@pytest.mark.parametrize(
    ("facts", "gpu", "tp", "lengths", "concurrency", "tpot"),
    [
        (dense_32b(), H100, 2, (4096, 1024), 32, 0.029),
        (dense_32b(), H100, 2, (1024, 1024), 128, 0.0378),
        (dense_70b_fp8(), H100, 2, (8192, 1024), 16, 0.035),
        (dense_70b_fp8(), H200, 1, (8192, 1024), 32, 0.076),
        (experts(), H100, 1, (2048, 1024), 10, 0.0132),
    ],
)
def test_published_measurements_are_met(
    facts: ModelFacts, gpu: str, tp: int, lengths: tuple[int, int], concurrency: int, tpot: float
) -> None:
    """TPOT that InferenceX and vLLM's issues print; the coefficients were fitted without most of them."""
    point = estimate(replica(facts, gpu, tp, sum(lengths)), *lengths, concurrency)
    assert point.tpot == pytest.approx(tpot, rel=0.35)


@pytest.mark.parametrize(
    ("facts", "gpu", "tp", "lengths", "before", "after"),
    [
        (dense_32b(), H100, 2, (4096, 1024), 32, 128),
        (dense_70b_fp8(), H100, 2, (8192, 1024), 16, 64),
        (dense_70b_fp8(), H200, 1, (8192, 1024), 16, 64),
    ],
)
def test_published_knees_are_met(
    facts: ModelFacts, gpu: str, tp: int, lengths: tuple[int, int], before: int, after: int
) -> None:
    """Where InferenceX shows the cliff of TTFT: there is room at `before`, and a queue at `after`."""
    found = replica(facts, gpu, tp, sum(lengths))
    assert estimate(found, *lengths, before).ttft < 5
    assert estimate(found, *lengths, after).ttft > 10
