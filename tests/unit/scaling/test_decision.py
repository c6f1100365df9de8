"""The decision, as an operator's loop would call it: every 15 seconds, with a clock of its own."""

from dataclasses import replace
from itertools import pairwise

import pytest

from inference_fleet.scaling.decision import Decision, Memory, begin, decide
from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.gate import Gate
from inference_fleet.scaling.policy import Mode, Policy
from inference_fleet.scaling.reclaim import Reclaim
from tests.unit.scaling.traffic import MONDAY, steady_forecast

POLICY = Policy(capacity=10.0, maximum=50)
TICK = 15.0


def run(
    memory: Memory,
    demand: float | None,
    minutes: float,
    *,
    policy: Policy = POLICY,
    p90: float | None = None,
    event_min: int = 0,
) -> tuple[list[Decision], Memory]:
    """Decide for some minutes with the same demand and forecast."""
    found = []
    now = memory.at
    for _ in range(round(minutes * 60 / TICK)):
        now += TICK
        forecast: Forecast | None = None if p90 is None else steady_forecast(now - now % 600, p90)
        decision, memory = decide(policy, memory, forecast, demand, now, event_min)
        found.append(decision)
    return found, memory


def serving(decisions: list[Decision]) -> set[int]:
    return {decision.serving for decision in decisions}


def test_the_target_is_the_higher_of_floor_and_demand() -> None:
    floor_above, _ = run(begin(MONDAY, 5, 0), 40.0, 1, p90=75.0)
    assert serving(floor_above) == {8}
    assert floor_above[-1].reason == "Forecast"
    demand_above, _ = run(begin(MONDAY, 5, 0), 95.0, 1, p90=75.0)
    assert serving(demand_above) == {10}


def test_a_forecast_never_lowers_what_demand_needs() -> None:
    decisions, _ = run(begin(MONDAY, 10, 0), 95.0, 60, p90=10.0)
    assert min(serving(decisions)) == 10


def test_forecast_only_says_the_floor_and_does_not_follow_it() -> None:
    decisions, _ = run(begin(MONDAY, 5, 0), 30.0, 1, p90=400.0, policy=replace(POLICY, mode=Mode.FORECAST_ONLY))
    assert decisions[-1].floor == 40
    assert decisions[-1].serving == 5
    assert not decisions[-1].follows_forecast


@pytest.mark.parametrize("minutes", [10, 30, 360])
def test_unknown_demand_holds_for_as_long_as_it_lasts(minutes: int) -> None:
    _, memory = run(begin(MONDAY, 20, 0), 195.0, 30, p90=195.0)
    decisions, _ = run(memory, None, minutes)
    assert {(decision.serving, decision.reason) for decision in decisions} == {(20, "DemandUnknown")}


def test_after_unknown_demand_a_whole_window_passes_before_anything_is_given_back() -> None:
    _, memory = run(begin(MONDAY, 20, 0), 195.0, 30, p90=195.0)
    _, memory = run(memory, None, 60)
    decisions, _ = run(memory, 20.0, 9.9, p90=20.0)
    assert serving(decisions) == {20}


def test_after_a_restart_at_peak_a_whole_window_passes() -> None:
    decisions, _ = run(begin(MONDAY, 20, 2), 10.0, 9.9, p90=10.0)
    assert serving(decisions) == {20}


def test_a_truly_idle_service_goes_down_to_its_minimum_in_steps() -> None:
    decisions, _ = run(begin(MONDAY, 20, 0), 0.0, 180, p90=0.0)
    numbers = [decision.serving for decision in decisions]
    assert numbers[-1] == 1
    assert max(before - after for before, after in pairwise(numbers)) == 2
    assert decisions[-1].reason == "AtMinimum"


def test_a_shortage_is_met_once_however_long_the_pods_load() -> None:
    decisions, _ = run(begin(MONDAY, 2, 0), 80.0, 6, p90=75.0)
    assert serving(decisions) == {8}


def test_standby_covers_what_is_uncertain_up_to_its_ceiling() -> None:
    decisions, _ = run(begin(MONDAY, 20, 0), 150.0, 1, p90=200.0)
    assert decisions[-1].serving == 20
    # P99 is 240: half of the way to it stands by at first.
    assert decisions[-1].warm == 2
    none, _ = run(begin(MONDAY, 20, 0), 150.0, 1, p90=200.0, policy=replace(POLICY, warm_percent=0))
    assert (none[-1].serving, none[-1].warm) == (22, 0)


def test_the_minimum_of_the_warm_pool_holds() -> None:
    decisions, _ = run(begin(MONDAY, 5, 0), 40.0, 1, policy=replace(POLICY, warm_min=3))
    assert decisions[-1].warm == 3


def test_bounds_hold_and_say_who_wants_more() -> None:
    forecast, _ = run(begin(MONDAY, 5, 0), 100.0, 1, p90=900.0)
    assert (forecast[-1].serving, forecast[-1].reason) == (50, "ForecastExceedsMax")
    demand, _ = run(begin(MONDAY, 5, 0), 900.0, 1)
    assert (demand[-1].serving, demand[-1].reason) == (50, "AtMaximum")


def test_an_event_asks_for_replicas_beforehand() -> None:
    decisions, _ = run(begin(MONDAY, 5, 0), 40.0, 1, p90=40.0, event_min=30)
    assert serving(decisions) == {30}


def test_the_gate_needs_a_day_of_history() -> None:
    forecast = steady_forecast(MONDAY, 400.0, days=0.5)
    decision, _ = decide(POLICY, begin(MONDAY, 5, 0), forecast, 40.0, MONDAY + TICK)
    assert decision.gate is Gate.SHORT
    assert decision.serving < 10


def test_an_old_forecast_is_no_forecast() -> None:
    decision, _ = decide(POLICY, begin(MONDAY, 5, 0), steady_forecast(MONDAY - 7200, 400.0), 40.0, MONDAY + TICK)
    assert decision.gate is Gate.ABSENT
    assert decision.floor is None


def test_the_gate_closes_on_a_forecast_that_costs_more_for_the_same() -> None:
    decisions, _ = run(begin(MONDAY, 4, 0), 40.0, 8 * 60, p90=400.0)
    assert decisions[0].gate is Gate.OPEN
    assert decisions[0].serving == 40
    assert decisions[-1].gate is Gate.COSTLY
    assert decisions[-1].serving < 10


def test_the_users_own_reclaim_is_kept() -> None:
    policy = replace(POLICY, reclaim=Reclaim(stabilization=1800, percent=50, every=60))
    decisions, _ = run(begin(MONDAY, 20, 0), 10.0, 40, policy=policy)
    held = [decision.serving for decision in decisions]
    assert set(held[: 4 * 29]) == {20}
    assert held[-1] <= 2


def test_seven_percent_of_a_hundred_is_seven() -> None:
    assert replace(POLICY, warm_percent=7).warm_ceiling(100) == 7
    assert replace(POLICY, warm_percent=25).warm_ceiling(5) == 2
    assert replace(POLICY, warm_min=2).warm_ceiling(0) == 0


def test_the_forecast_reaches_over_the_lead_time_or_a_longer_cold_start() -> None:
    assert Policy(capacity=1.0).horizons == 3
    assert Policy(capacity=1.0, refill=3000).horizons == 7


def test_spikes_of_single_minutes_do_not_keep_standby_all_day() -> None:
    calm = steady_forecast(MONDAY, 200.0)
    spiky = replace(calm, high=10 * calm.high)
    decision, _ = decide(POLICY, begin(MONDAY, 20, 0), spiky, 150.0, MONDAY + TICK)
    assert decision.serving == 20
    assert decision.warm <= 4
