"""Past traffic through our scaler and through the simpler ones: the figures, and what the picture shows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.decision import Decision
from inference_fleet.scaling.grid import Demand, bins
from inference_fleet.scaling.policy import Policy
from inference_fleet.scaling.scalers import (
    Predictive,
    Reactive,
    StaticPeak,
    Walk,
    last_value_floor,
    seasonal_naive_floor,
    walk,
)
from inference_fleet.scaling.score import ForecastScore, Score, score, score_forecast
from inference_fleet.scaling.simulate import Replay, Scaler, replay

TYPICAL_PEAK = 20
"""Replicas that the traffic is scaled to where no capacity is stated: the 99.9th percentile fills so many."""
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Backtest:
    """What came out of one replay of the traffic."""

    policy: Policy
    since: float
    """Unix seconds from which everything is scored."""
    score: Score
    baselines: Mapping[str, Score]
    forecast: ForecastScore
    replay: Replay
    decisions: tuple[Decision, ...]
    walk: Walk

    @property
    def followed(self) -> float:
        """Share of the scored time in which the gate let the forecast decide."""
        scored = np.array(self.replay.at >= self.since)
        is_open = np.array([decision.follows_forecast for decision in self.decisions])[scored]
        seconds = self.replay.seconds[scored]
        return float((is_open * seconds).sum() / seconds.sum()) if seconds.size else 0.0


def typical_capacity(demand: Demand) -> float:
    """A capacity for traffic of unknown size: its 99.9th percentile is worth TYPICAL_PEAK replicas."""
    return float(np.nanpercentile(demand.values, 99.9)) / TYPICAL_PEAK


def scored_from(demand: Demand) -> float:
    """After the first day, with which every scaler starts out knowing nothing; after a quarter of less than four."""
    return demand.start + min(_DAY, demand.values.size * demand.step / 4)


def backtest(demand: Demand, policy: Policy, calendar: Calendar) -> Backtest:
    """Replay the traffic. Needs at least one real sample above 0."""
    series = list(bins(demand))
    walked = walk(series, calendar, policy.horizons)
    known = demand.values[np.isfinite(demand.values)]
    first = policy.bounded(policy.replicas(float(known[0])))
    peak = policy.bounded(policy.replicas(float(known.max())))
    since = scored_from(demand)
    ours = Predictive(policy, calendar, walked.forecasts, demand.start, first)
    run = replay(demand, ours, policy.refill, first)
    last, naive = last_value_floor(series, policy.horizons), seasonal_naive_floor(series, policy.horizons)
    scalers: dict[str, tuple[Scaler, int]] = {
        "static_peak": (StaticPeak(peak), peak),
        "reactive": (Reactive(policy, first), first),
        "reactive_warm_pool": (Reactive(policy, first, pool=policy.warm_percent), first),
        "last_value_floor": (Reactive(policy, first, last), first),
        "seasonal_naive_floor": (Reactive(policy, first, naive), first),
    }
    return Backtest(
        policy=policy,
        since=since,
        score=score(run, policy, since),
        baselines={
            name: score(replay(demand, scaler, policy.refill, up), policy, since)
            for name, (scaler, up) in scalers.items()
        },
        forecast=score_forecast(series, walked.forecasts, since),
        replay=run,
        decisions=tuple(ours.decisions),
        walk=walked,
    )
