"""A backtest as a picture: the last week of demand, forecast, floor and replicas, and every moment that was missed."""

from datetime import datetime, tzinfo
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from inference_fleet.scaling.backtest import Backtest
from inference_fleet.scaling.grid import BIN_SECONDS, Floats
from inference_fleet.scaling.score import HORIZON

_SHOWN = 7 * 86_400.0


def draw(result: Backtest, zone: tzinfo, path: Path) -> None:
    """Write a PNG file. Raises OSError where that cannot be."""
    run = result.replay
    since = max(float(run.at[0]), float(run.at[-1]) - _SHOWN)
    shown = run.at >= since
    at = _dates(run.at[shown], zone)
    capacity = result.policy.capacity
    figure = Figure(figsize=(14, 8), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    _forecast(upper, result, since, zone)
    demand = run.demand[shown] / capacity
    upper.plot(at, demand, color="black", linewidth=0.8, label="demand")
    floor = np.array([np.nan if decision.floor is None else decision.floor for decision in result.decisions])[shown]
    upper.step(at, floor, where="post", color="tab:orange", linewidth=1.0, label="floor (P90 over the lead time)")
    serving, warm, loading = run.serving[shown], run.warm[shown], run.loading[shown]
    lower.stackplot(
        at,
        serving,
        warm,
        loading,
        step="post",
        labels=["serving", "warm", "loading"],
        colors=["tab:green", "gold", "lightgrey"],
    )
    lower.plot(at, demand, color="black", linewidth=0.8, label="demand")
    missed = demand > serving + 1e-9
    for axes in (upper, lower):
        top = axes.get_ylim()[1]
        axes.fill_between(
            at, 0, top, where=missed, step="post", color="red", alpha=0.5, linewidth=0.8, label="violation"
        )
        axes.set_ylim(0, top)
        axes.set_ylabel("replicas")
        axes.legend(loc="upper left", ncols=5, fontsize="small")
        axes.grid(alpha=0.3)
    score = result.score
    upper.set_title(
        f"{score.gpu_hours_over_oracle:.2f}x the oracle's GPU hours, {score.violation_minutes_pct:.2f} % violation "
        f"minutes, forecast decides {100 * result.followed:.0f} % of the time (one replica carries {capacity:g})"
    )
    locator = AutoDateLocator(tz=zone)
    lower.xaxis.set_major_locator(locator)
    lower.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=zone))
    lower.set_xlim(at[0], at[-1])
    figure.savefig(path, dpi=110, format="png")


def _forecast(axes: Axes, result: Backtest, since: float, zone: tzinfo) -> None:
    """The band from P50 to P90 that was stated twenty minutes ahead."""
    rows = [
        (
            forecast.start + (HORIZON - 1) * BIN_SECONDS,
            forecast.quantiles[HORIZON - 1, 0] / result.policy.capacity,
            forecast.p90[HORIZON - 1] / result.policy.capacity,
        )
        for forecast in result.walk.forecasts.values()
        if forecast is not None and forecast.start >= since
    ]
    if rows:
        starts, middle, high = np.array(rows).T
        axes.fill_between(
            _dates(starts, zone),
            middle,
            high,
            step="post",
            color="tab:blue",
            alpha=0.35,
            linewidth=0,
            label="forecast P50 to P90, 20 min ahead",
        )


def _dates(at: Floats, zone: tzinfo) -> Floats:
    return np.asarray(date2num([datetime.fromtimestamp(moment, zone) for moment in at.tolist()]), dtype=np.float64)
