from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from inference_fleet.scaling.calendar import Calendar, PlannedEvent
from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.forecaster import Forecaster
from inference_fleet.scaling.grid import BIN_SECONDS, Bin, bins
from inference_fleet.scaling.scalers import walk
from inference_fleet.scaling.score import score_forecast
from tests.unit.scaling.traffic import BINS_PER_DAY, DAY, MONDAY, binned, bursts, days


def after(series: list[Bin], calendar: Calendar | None = None) -> Forecast | None:
    forecaster = Forecaster(calendar or Calendar(), 3)
    for observed in series:
        forecaster.learn(observed)
    return forecaster.forecast()


def test_a_rhythm_is_forecast_far_better_than_by_the_last_value_and_p90_covers_ninety_percent() -> None:
    series = list(bins(days(12)))
    result = score_forecast(series, walk(series, Calendar(), 3).forecasts, MONDAY + 2 * DAY)
    assert result.skill is not None and result.wape is not None and result.coverage_p90 is not None
    assert result.skill > 0.45
    assert result.wape < 0.04  # the noise alone is 0.024
    assert 0.85 <= result.coverage_p90 <= 0.95


def test_without_a_rhythm_p90_still_covers_ninety_percent_and_nothing_is_lost_to_the_last_value() -> None:
    series = list(bins(bursts(12)))
    result = score_forecast(series, walk(series, Calendar(), 3).forecasts, MONDAY + 2 * DAY)
    assert result.skill is not None and result.coverage_p90 is not None
    assert result.skill > -0.05
    assert 0.85 <= result.coverage_p90 <= 0.95


def test_the_shares_of_the_experts_are_told_and_add_up() -> None:
    forecast = after(list(bins(days(4))))
    assert forecast is not None
    assert sum(forecast.weights.values()) == pytest.approx(1)
    assert forecast.weights["last"] < 0.2
    assert forecast.skill is not None and forecast.skill > 0.3


def test_a_few_hours_of_history_are_enough_to_say_something() -> None:
    forecast = after(binned([100.0, 110.0, 120.0]))
    assert forecast is not None
    assert 100 <= forecast.point[0] <= 140
    assert (forecast.p90 > forecast.point).all()
    assert forecast.days < 1


def test_a_gap_is_neither_zero_nor_learned() -> None:
    demand = days(6, noise=0.0)
    values = demand.values.copy()
    begin = 4 * BINS_PER_DAY + 60
    values[begin : begin + 36] = np.nan
    series = binned(values)
    in_short_gap, in_long_gap = after(series[: begin + 2]), after(series[: begin + 30])
    assert in_short_gap is not None and in_short_gap.unknown_bins == 2
    assert in_short_gap.point[0] == pytest.approx(demand.values[begin + 2], rel=0.05)
    assert in_long_gap is None
    back = after(series[: begin + 38])
    assert back is not None
    assert back.point[1] == pytest.approx(demand.values[begin + 39], rel=0.05)


def test_a_restart_of_the_metrics_skips_bins_without_a_word() -> None:
    series = list(bins(days(3)))
    forecast = after(series[:200] + series[260:])
    assert forecast is not None
    assert forecast.days == pytest.approx((len(series) - 60) / BINS_PER_DAY)


def test_a_level_shift_is_followed_within_two_hours() -> None:
    demand = days(8, noise=0.0)
    values = demand.values.copy()
    shift = 6 * BINS_PER_DAY + 40
    values[shift:] *= 1.5
    forecast = after(binned(values[: shift + 12]))
    assert forecast is not None
    assert forecast.point[1] == pytest.approx(values[shift + 13], rel=0.08)


def test_a_planned_event_is_expected_and_not_mistaken_for_the_shape_of_the_day() -> None:
    begin = MONDAY + 4 * DAY + 12 * 3600
    event = Calendar(events=(PlannedEvent(begin, begin + 7200, factor=3.0),))
    values = days(6, noise=0.0, weekend=1.0).values.copy()
    usual = values.copy()
    first = 4 * BINS_PER_DAY + 72
    values[first : first + 12] *= 3
    before = after(binned(values[: first - 1]), event)
    assert before is not None
    assert before.point[1] == pytest.approx(3 * usual[first], rel=0.1)
    next_day = after(binned(values[: first + BINS_PER_DAY]), event)
    assert next_day is not None
    assert next_day.point[1] == pytest.approx(usual[first + BINS_PER_DAY + 1], rel=0.1)


def test_the_season_moves_with_daylight_saving() -> None:
    """Work begins at 09:00 in Berlin, one hour earlier in UTC from 2026-03-29 on."""
    zone = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 3, 25, tzinfo=UTC).timestamp()
    at = start + BIN_SECONDS * np.arange(6 * BINS_PER_DAY)
    values = np.array([900.0 if 9 <= datetime.fromtimestamp(t, zone).hour < 18 else 100.0 for t in at.tolist()])
    begin = int((datetime(2026, 3, 30, 7, tzinfo=UTC).timestamp() - start) // BIN_SECONDS)
    assert values[begin - 1] == 100 and values[begin] == 900
    local = after(binned(values[: begin - 1], start), Calendar(zone=zone))
    fixed = after(binned(values[: begin - 1], start), Calendar())
    assert local is not None and fixed is not None
    assert local.point[1] > 500 > fixed.point[1]


def test_the_next_peak_is_where_the_day_has_it() -> None:
    forecaster = Forecaster(Calendar(), 3)
    for observed in bins(days(3, noise=0.0)):
        forecaster.learn(observed)
    peak = forecaster.next_peak()
    assert peak is not None
    assert abs(peak[0] - (MONDAY + 3 * DAY + 15 * 3600)) <= 1800
    assert peak[1] == pytest.approx(1000, rel=0.02)


def test_idle_traffic_stays_finite() -> None:
    forecast = after(binned(np.zeros(3 * BINS_PER_DAY)))
    assert forecast is not None
    assert np.isfinite(forecast.quantiles).all()
    assert forecast.quantiles.max() < 1e-6


def test_old_bins_are_refused() -> None:
    forecaster = Forecaster(Calendar(), 3)
    forecaster.learn(Bin(10, 1.0, 1.0))
    with pytest.raises(ValueError, match="bin 10 is not newer than 10"):
        forecaster.learn(Bin(10, 1.0, 1.0))
