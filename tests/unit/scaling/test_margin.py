from dataclasses import replace

import pytest

from inference_fleet.scaling.margin import BUDGET, Rules, Tick, advance, track
from inference_fleet.scaling.reclaim import FAST

RULES = Rules(gain=0.02, highest=1.0, reclaim=FAST)


def tick(now: float, demand: float, *, compared: bool = True) -> Tick:
    return Tick(now=now, elapsed=60.0, demand=demand, refill=300.0, compared=compared)


def test_a_missed_minute_raises_the_margin_and_quiet_ones_lower_it_by_the_budget() -> None:
    start = track(0, 10, 0.5)
    assert advance(start, tick(60, 11.0), 11, RULES).margin == pytest.approx(0.5 + 0.02 * (1 - BUDGET))
    assert advance(start, tick(60, 9.0), 10, RULES).margin == pytest.approx(0.5 - 0.02 * BUDGET)


def test_what_was_ordered_too_late_counts_as_missed() -> None:
    state = track(0, 10, 0.5)
    margins = []
    for minute in range(1, 9):
        state = advance(state, tick(60.0 * minute, 15.0), 15, RULES)
        margins.append(state.margin)
    # Ordered in minute 1, up in minute 6: five minutes are missed, and no more.
    assert margins[4] == max(margins)
    assert margins[4] == pytest.approx(0.5 + 5 * 0.02 * (1 - BUDGET))


def test_the_margin_stays_within_its_bounds() -> None:
    high, low = track(0, 1, 0.99), track(0, 9, 0.0)
    for minute in range(1, 100):
        high = advance(high, tick(60.0 * minute, 10.0 + minute), 1, RULES)
        low = advance(low, tick(60.0 * minute, 1.0), 9, RULES)
    assert high.margin == 1.0
    assert low.margin == 0.0


def test_costs_are_means_and_begin_when_they_are_compared() -> None:
    state = advance(track(0, 40, 0.5), tick(60, 1.0, compared=False), 40, RULES)
    assert state.cost == 0.0
    for minute in range(2, 8):
        state = advance(state, tick(60.0 * minute, 1.0), 50, RULES)
    assert state.cost == pytest.approx(50)


def test_a_long_pause_counts_as_a_minute() -> None:
    late = replace(tick(7200, 99.0), elapsed=7200.0)
    assert advance(track(0, 10, 0.5), late, 99, RULES).margin < 0.53
