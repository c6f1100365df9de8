"""Our decision, and the ways of scaling it has to beat, as a replay calls them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.decision import Decision, begin, decide
from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.forecaster import Forecaster
from inference_fleet.scaling.grid import BIN_SECONDS, BINS_PER_DAY, Bin
from inference_fleet.scaling.policy import Policy
from inference_fleet.scaling.reclaim import Held, Reclaim, follow, held

HPA = Reclaim(stabilization=300, percent=100, every=0)
"""A HorizontalPodAutoscaler's defaults: five minutes, then all at once."""
_THREE_DAYS = 3 * BINS_PER_DAY


@dataclass(frozen=True, slots=True)
class Walk:
    """Every forecast of a series, each made from its own past."""

    forecasts: Mapping[int, Forecast | None]
    """By the index of the bin after which it was made."""
    next_peak: tuple[float, float] | None
    """After the last bin: forecaster.Forecaster.next_peak."""


def walk(series: list[Bin], calendar: Calendar, horizons: int) -> Walk:
    """Learn a series bin by bin, and forecast after each."""
    forecaster = Forecaster(calendar, horizons)
    made: dict[int, Forecast | None] = {}
    for observed in series:
        forecaster.learn(observed)
        made[observed.index] = forecaster.forecast()
    return Walk(made, forecaster.next_peak())


class Predictive:
    """decision.decide with its memory, over forecasts made beforehand, each from its own past."""

    def __init__(
        self, policy: Policy, calendar: Calendar, forecasts: Mapping[int, Forecast | None], start: float, first: int
    ) -> None:
        self._policy = policy
        self._calendar = calendar
        self._forecasts = forecasts
        self._memory = begin(start, first, 0)
        self.decisions: list[Decision] = []

    def __call__(self, now: float, demand: float | None) -> tuple[int, int]:
        """Serving and standby replicas."""
        forecast = self._forecasts.get(int(now // BIN_SECONDS) - 1)
        event_min = self._calendar.min_replicas(now, now + self._policy.lead)
        decision, self._memory = decide(self._policy, self._memory, forecast, demand, now, event_min)
        self.decisions.append(decision)
        return decision.serving, decision.warm


@dataclass(frozen=True, slots=True)
class StaticPeak:
    """The highest demand of the whole series, known beforehand and kept up all the time."""

    replicas: int

    def __call__(self, now: float, demand: float | None) -> tuple[int, int]:
        """Always the same."""
        return self.replicas, 0


class Reactive:
    """What is needed now, as an HPA would; with a floor, a warm pool or headroom where given."""

    def __init__(
        self, policy: Policy, first: int, floor: Mapping[int, float] | None = None, pool: int = 0, headroom: float = 1.0
    ) -> None:
        self._policy = policy
        self._held: Held = held(-math.inf, first)
        self._floor = floor or {}
        self._pool = pool
        self._headroom = headroom

    def __call__(self, now: float, demand: float | None) -> tuple[int, int]:
        """Serving and standby replicas; holds while demand is unknown."""
        if demand is not None:
            floor = self._floor.get(int(now // BIN_SECONDS) - 1, 0.0)
            wanted = self._policy.replicas(max(demand, floor) * self._headroom)
            self._held = follow(self._held, now, self._policy.bounded(wanted), HPA)
        serving = self._held.replicas
        return serving, -(-self._pool * serving // 100)


def last_value_floor(series: list[Bin], horizons: int) -> dict[int, float]:
    """The last bin, times the P90 of how much more came within the lead time during the last three days."""
    means = np.array([observed.mean for observed in series])
    highs = np.array([observed.high for observed in series])
    ratios = np.full(means.size, np.nan)
    for index in range(means.size - horizons):
        following = highs[index + 1 : index + 1 + horizons]
        if means[index] > 0 and np.isfinite(following).any():
            ratios[index] = np.nanmax(following) / means[index]
    floor: dict[int, float] = {}
    for index, observed in enumerate(series):
        # A ratio is known once its last bin is over.
        past = ratios[max(0, index + 1 - horizons - _THREE_DAYS) : max(0, index + 1 - horizons)]
        past = past[np.isfinite(past)]
        if math.isfinite(observed.mean):
            floor[observed.index] = observed.mean * (float(np.quantile(past, 0.9)) if past.size else 1.0)
    return floor


def seasonal_naive_floor(series: list[Bin], horizons: int) -> dict[int, float]:
    """The highest of the same bins of the day before."""
    by_index = {observed.index: observed.mean for observed in series if math.isfinite(observed.mean)}
    floor: dict[int, float] = {}
    for observed in series:
        then = range(observed.index + 1 - BINS_PER_DAY, observed.index + 1 - BINS_PER_DAY + horizons)
        floor[observed.index] = max((by_index[index] for index in then if index in by_index), default=0.0)
    return floor
