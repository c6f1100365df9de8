from dataclasses import replace

import numpy as np
import pytest

from inference_fleet.scaling.backtest import Backtest, backtest
from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.fleet import Fleet
from inference_fleet.scaling.grid import Demand
from inference_fleet.scaling.policy import Policy
from inference_fleet.scaling.scalers import Reactive
from inference_fleet.scaling.score import score
from inference_fleet.scaling.simulate import Replay, moments, replay
from tests.unit.scaling.traffic import DAY, MONDAY, bursts, days, flat

POLICY = Policy(capacity=50.0)


def test_replicas_are_up_after_the_cold_start_and_not_before() -> None:
    fleet = Fleet(2, 300.0)
    fleet.scale(0, 5)
    fleet.scale(299, 5)
    assert (fleet.up, fleet.loading) == (2, 3)
    fleet.scale(300, 5)
    assert (fleet.up, fleet.loading) == (5, 0)


def test_what_still_loads_is_given_back_first() -> None:
    fleet = Fleet(4, 300.0)
    fleet.scale(0, 7)
    fleet.scale(60, 5)
    assert (fleet.up, fleet.loading) == (4, 1)
    fleet.scale(120, 3)
    assert (fleet.up, fleet.loading) == (3, 0)


def test_a_sample_is_seen_fifteen_seconds_after_it_began() -> None:
    found = list(moments(Demand(0.0, 120, np.array([1.0, 2.0]))))
    assert found == [
        (0.0, 15.0, 0, -1),
        (15.0, 45.0, 0, 0),
        (60.0, 60.0, 0, 0),
        (120.0, 15.0, 1, 0),
        (135.0, 45.0, 1, 1),
        (180.0, 60.0, 1, 1),
    ]


def test_a_step_is_missed_for_the_cold_start_and_the_reaction() -> None:
    values = np.concatenate([np.full(60, 90.0), np.full(60, 190.0)])
    demand = Demand(MONDAY, 60, values)
    run = replay(demand, Reactive(POLICY, 2), 300.0, 2)
    result = score(run, POLICY, MONDAY)
    assert result.violation_minutes_pct == pytest.approx(100 * 315 / 7200)
    assert result.unserved_pct == pytest.approx(100 * 315 * 90 / (60 * values.sum()))


def test_the_figures_of_flat_traffic_can_be_worked_out_by_hand() -> None:
    demand = flat(95.0, 1)
    result = score(replay(demand, Reactive(POLICY, 2), 300.0, 2), POLICY, MONDAY)
    assert result.gpu_hours == pytest.approx(48)
    assert result.gpu_hours_over_oracle == pytest.approx(1)
    assert (result.violation_minutes_pct, result.scale_actions_per_day) == (0, 0)


@pytest.fixture(scope="module")
def rhythm() -> Backtest:
    return backtest(days(9), POLICY, Calendar())


def test_the_future_changes_nothing_before_it(rhythm: Backtest) -> None:
    """Strictly causal: what was decided up to a moment is the same whatever comes after."""
    demand = days(9)
    cut = 5 * 144 + 50
    other = replace(demand, values=np.concatenate([demand.values[:cut], 3 * demand.values[cut:][::-1]]))
    changed = backtest(other, POLICY, Calendar())
    moment = demand.start + cut * demand.step
    before = int(np.searchsorted(rhythm.replay.at, moment + 15))
    assert rhythm.decisions[:before] == changed.decisions[:before]
    assert rhythm.decisions[before:] != changed.decisions[before:]


def test_daily_traffic_is_served_for_less_than_by_reaction_and_a_pool(rhythm: Backtest) -> None:
    assert rhythm.score.violation_minutes_pct <= 1
    assert rhythm.score.gpu_hours_over_oracle < 1.2
    pool = rhythm.baselines["reactive_warm_pool"]
    assert rhythm.score.gpu_hours < pool.gpu_hours
    assert rhythm.score.violation_minutes_pct <= pool.violation_minutes_pct
    assert rhythm.baselines["reactive"].violation_minutes_pct > 3
    assert rhythm.baselines["static_peak"].violation_minutes_pct == 0
    assert rhythm.followed > 0.9


def test_replicas_are_up_before_the_peak(rhythm: Backtest) -> None:
    """On the last morning, each rise of demand finds its replicas: at no moment does the reactive part have to ask."""
    run = rhythm.replay
    morning = (run.at >= MONDAY + 7 * DAY + 6 * 3600) & (run.at < MONDAY + 7 * DAY + 15 * 3600)
    assert (run.serving[morning] * POLICY.capacity >= run.demand[morning]).mean() > 0.99


def test_a_long_cold_start_keeps_the_promise() -> None:
    result = backtest(days(9), replace(POLICY, refill=900.0), Calendar())
    assert result.score.violation_minutes_pct <= 1
    assert result.score.gpu_hours_over_oracle < 1.25


def test_the_gate_stays_shut_where_the_past_does_not_help() -> None:
    result = backtest(bursts(9), POLICY, Calendar())
    tuned = [
        score(replay(bursts(9), Reactive(POLICY, 10, headroom=headroom), 300.0, 10), POLICY, result.since)
        for headroom in (1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)
    ]
    best = min(s.gpu_hours for s in tuned if s.violation_minutes_pct <= result.score.violation_minutes_pct)
    assert result.score.gpu_hours <= 1.03 * best


def test_a_flash_crowd_hurts_less_than_with_reaction_alone() -> None:
    demand = days(6, step=60, noise=0.02, weekend=1.0)
    values = demand.values.copy()
    crowd = 5 * 1440 + 600
    values[crowd : crowd + 120] *= np.concatenate([[2.0], np.full(119, 3.0)])
    surge = replace(demand, values=values)
    ours = backtest(surge, POLICY, Calendar()).replay
    alone = replay(surge, Reactive(POLICY, 10), 300.0, 10)
    begin = MONDAY + crowd * 60
    during = (ours.at >= begin) & (ours.at < begin + 7200)

    def unserved(run: Replay) -> float:
        short = np.maximum(run.demand - run.serving * POLICY.capacity, 0)[during]
        return float((short * run.seconds[during]).sum())

    assert unserved(ours) < 0.95 * unserved(alone)
    assert (ours.serving + ours.warm)[ours.at >= begin + 7200 + 4 * 3600].max() <= 30


def test_a_hole_in_the_data_scores_nowhere_and_lowers_nothing() -> None:
    demand = days(6)
    values = demand.values.copy()
    values[4 * 144 + 80 : 4 * 144 + 116] = np.nan
    result = backtest(replace(demand, values=values), POLICY, Calendar())
    run = result.replay
    inside = (run.at >= MONDAY + 4 * DAY + 80 * 600 + 15) & (run.at < MONDAY + 4 * DAY + 116 * 600)
    assert len(set(run.wanted[inside])) == 1
    assert np.isnan(run.demand[inside]).all()
