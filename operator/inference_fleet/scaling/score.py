"""What a replay cost, and what it missed, against a perfect system.

The oracle is ceil(demand / capacity) at every moment, with no delay and no margin (the bound that llm-d uses): nothing
real reaches it. Times at which demand is unknown count nowhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.grid import BIN_SECONDS, Bin
from inference_fleet.scaling.policy import Policy
from inference_fleet.scaling.simulate import Replay

HORIZON = 2
"""Bins: forecasts are scored twenty minutes ahead."""


@dataclass(frozen=True, slots=True)
class Score:
    """The figures of one way of scaling. A replica-hour is an hour of one GPU group, loading time included."""

    gpu_hours: float
    gpu_hours_over_oracle: float
    violation_minutes_pct: float
    """Share of time in which demand was above what the serving replicas carry."""
    unserved_pct: float
    """Share of the demand that was above it."""
    scale_actions_per_day: float


@dataclass(frozen=True, slots=True)
class ForecastScore:
    """The figures of the forecast, twenty minutes ahead, as shares. None where nothing could be compared."""

    wape: float | None
    """Sum of errors / sum of demand."""
    coverage_p90: float | None
    """Share of bins under their P90."""
    skill: float | None
    """1 - error / error of the last value."""


def score(run: Replay, policy: Policy, since: float) -> Score:
    """The figures from `since` on."""
    counts = (run.at >= since) & np.isfinite(run.demand)
    seconds, demand = run.seconds[counts], run.demand[counts]
    if seconds.size == 0:
        return Score(0.0, 0.0, 0.0, 0.0, 0.0)
    carried = run.serving[counts] * policy.capacity
    short = np.maximum(demand - carried, 0.0)
    short[short < 1e-9 * policy.capacity] = 0.0
    up = run.serving[counts] + run.warm[counts] + run.loading[counts]
    oracle = np.maximum(np.ceil(demand / policy.capacity - 1e-9), policy.minimum)
    spent, least, total = (float((values * seconds).sum()) for values in (up, oracle, demand))
    changes = np.count_nonzero(np.diff(run.wanted[run.at >= since]))
    return Score(
        gpu_hours=spent / 3600,
        gpu_hours_over_oracle=spent / least if least else 0.0,
        violation_minutes_pct=100 * float(seconds[short > 0].sum() / seconds.sum()),
        unserved_pct=100 * float((short * seconds).sum()) / total if total else 0.0,
        scale_actions_per_day=changes / (float(run.seconds[run.at >= since].sum()) / 86_400),
    )


def score_forecast(series: list[Bin], made: Mapping[int, Forecast | None], since: float) -> ForecastScore:
    """Compare each known bin from `since` on with what was forecast for it twenty minutes before."""
    last = {observed.index: observed.mean for observed in series}
    rows = [
        (observed.mean, forecast.point[HORIZON - 1], forecast.p90[HORIZON - 1], last[observed.index - HORIZON])
        for observed in series
        if observed.index * BIN_SECONDS >= since
        and np.isfinite(observed.mean)
        and (forecast := made.get(observed.index - HORIZON)) is not None
        and np.isfinite(last[observed.index - HORIZON])
    ]
    if not rows:
        return ForecastScore(None, None, None)
    actual, point, p90, before = np.array(rows).T
    error, naive, total = np.abs(actual - point).sum(), np.abs(actual - before).sum(), actual.sum()
    return ForecastScore(
        wape=float(error / total) if total else None,
        coverage_p90=float(np.mean(actual <= p90)),
        skill=float(1 - error / naive) if naive else None,
    )
