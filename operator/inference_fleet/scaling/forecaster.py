"""The forecaster of one service: learns bin by bin, and states quantiles for the bins to come.

Each known bin first judges what was forecast for it (the experts' errors, the scores), then teaches. All state is a few
arrays and each step costs the same, so a restart replays 28 days in seconds. Planned events are divided out of what is
learned and multiplied into what is forecast. In a gap nothing is learned and nothing is judged; a short one is bridged
by the forecast itself, a long one ends the forecast until there is demand again.
"""

from collections import deque
from dataclasses import dataclass, replace

import numpy as np

from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.conformal import P90, Scores
from inference_fleet.scaling.experts import NAMES, START, HoltWinters, Past, forecasts
from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.grid import BIN_SECONDS, BINS_PER_DAY, Bin, Floats
from inference_fleet.scaling.judge import Judge
from inference_fleet.scaling.regression import Regression
from inference_fleet.scaling.season import Season

_WEEK = 7 * BINS_PER_DAY
_LONGEST_BRIDGE = 3
"""Unknown bins in a row that the forecast itself stands in for."""


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said after one bin, in usual demand (planned events divided out)."""

    index: int
    value: float
    scale: float
    features: Floats
    experts: Floats
    point: Floats
    scales: Floats
    mean_scores: Floats
    high_scores: Floats
    shares: Floats


class Forecaster:
    """Quantile forecasts for the next `horizons` bins."""

    def __init__(self, calendar: Calendar, horizons: int) -> None:
        self._calendar = calendar
        self._horizons = horizons
        self._season = Season()
        self._holt_winters = HoltWinters()
        self._regression = Regression(START, horizons)
        self._judge = Judge(horizons)
        self._means = Scores(horizons)
        self._highs = Scores(horizons)
        self._said: deque[_Said] = deque(maxlen=horizons)
        self._past = np.full(_WEEK + horizons + 1, np.nan)
        self._index: int | None = None
        self._scale = np.nan
        self._known = 0
        self._unknown = 0

    def learn(self, observed: Bin) -> None:
        """Add the next bin; indexes must grow, and what lies between is unknown.

        Raises ValueError for a bin that is not newer than the last.
        """
        last = observed.index - 1 if self._index is None else self._index
        if observed.index <= last and self._index is not None:
            raise ValueError(f"bin {observed.index} is not newer than {last}")
        for index in range(max(last + 1, observed.index - self._past.size), observed.index):
            self._step(Bin(index, np.nan, np.nan))
        self._step(observed)

    def forecast(self) -> Forecast | None:
        """What is to come after the last bin; None before the first real one and in a long gap."""
        if self._index is None or not self._said or self._said[-1].index != self._index:
            return None
        said = self._said[-1]
        factors = np.array([self._calendar.factor(place) for place in self._ahead(self._index)])
        point = said.point * factors
        width = (said.scales * factors)[:, None]
        widened = width * np.sqrt(1.0 + self._unknown)
        return Forecast(
            start=float((self._index + 1) * BIN_SECONDS),
            point=point,
            quantiles=np.maximum(point[:, None] + widened * said.mean_scores, 0.0),
            high=np.maximum(point[:, None] + widened * said.high_scores, 0.0),
            weights=dict(zip(NAMES, map(float, said.shares[:, -1]), strict=True)),
            skill=self._judge.skill(),
            coverage=self._judge.coverage(),
            days=self._known / BINS_PER_DAY,
            unknown_bins=self._unknown,
        )

    def next_peak(self) -> tuple[float, float] | None:
        """When the highest demand of the coming day begins, and how high it usually is; None before one day."""
        if self._index is None or self._known < BINS_PER_DAY:
            return None
        usual = [
            (self._season.at(*self._calendar.place(at))[2] * self._calendar.factor(at), at)
            for at in ((self._index + ahead) * float(BIN_SECONDS) for ahead in range(1, BINS_PER_DAY + 1))
        ]
        height, at = max((pair for pair in usual if np.isfinite(pair[0])), default=(np.nan, np.nan))
        return None if np.isnan(height) else (at, float(height))

    def _ahead(self, index: int) -> list[float]:
        return [(index + ahead) * float(BIN_SECONDS) for ahead in range(1, self._horizons + 1)]

    def _step(self, observed: Bin) -> None:
        at = observed.index * float(BIN_SECONDS)
        factor = self._calendar.factor(at)
        usual = replace(observed, mean=observed.mean / factor, high=observed.high / factor)
        slot, weekday = self._calendar.place(at)
        self._index = usual.index
        if np.isfinite(usual.mean):
            self._judge_said(usual, slot)
            self._season.learn(slot, weekday, usual.mean)
            self._holt_winters.learn(slot, usual.mean)
            typical = usual.mean if np.isnan(self._scale) else self._scale
            self._scale = typical + (usual.mean - typical) / BINS_PER_DAY
            self._known += 1
            self._unknown = 0
            value = usual.mean
        else:
            self._unknown += 1
            bridged = self._unknown <= _LONGEST_BRIDGE and self._said and self._said[-1].index == usual.index - 1
            value = float(self._said[-1].point[0]) if bridged else np.nan
        self._past[usual.index % self._past.size] = value
        if np.isfinite(value):
            self._say(usual.index, value, slot, weekday)

    def _judge_said(self, observed: Bin, slot: int) -> None:
        """Let a known bin judge, and the regression learn from, what was said for it at each horizon."""
        rows = self._horizons
        experts = np.full((len(NAMES), rows), np.nan)
        features = np.full((rows, START.size), np.nan)
        point, scales, change = np.full(rows, np.nan), np.full(rows, np.nan), np.full(rows, np.nan)
        means, highs = np.full((rows, 4), np.nan), np.full((rows, 4), np.nan)
        for said in self._said:
            row = observed.index - said.index - 1
            if 0 <= row < rows:
                experts[:, row], features[row] = said.experts[:, row], said.features[row]
                point[row], scales[row] = said.point[row], said.scales[row]
                means[row], highs[row] = said.mean_scores[row], said.high_scores[row]
                change[row] = (observed.mean - said.value) / said.scale
        self._judge.learn(slot, observed.mean, experts, point, point + scales * means[:, P90])
        self._means.learn((observed.mean - point) / scales, means)
        self._highs.learn((observed.high - point) / scales, highs)
        self._regression.learn(features, change)

    def _say(self, index: int, value: float, slot: int, weekday: int) -> None:
        places = [self._calendar.place(at) for at in self._ahead(index)]
        slots = [place[0] for place in places]
        scale = max(self._scale, 1e-9)
        past = Past(
            value=value,
            scale=scale,
            usual_now=self._season.at(slot, weekday),
            usual_then=np.array([self._season.at(*place) for place in places]),
            changes=self._changes(index),
            same_changes=self._same_changes(index),
            slots=slots,
        )
        features = past.features()
        experts = forecasts(past, features, self._regression, self._holt_winters)
        shares = self._judge.weights(experts, scale)
        point = (shares * np.nan_to_num(experts)).sum(axis=0)
        scales = self._judge.scales(point, slots, scale)
        means, highs = self._means.quantiles(), self._highs.quantiles()
        self._said.append(_Said(index, value, scale, features, experts, point, scales, means, highs, shares))

    def _changes(self, index: int) -> Floats:
        now, one, two, five = self._past[(index - np.array([0, 1, 2, 5])) % self._past.size]
        return np.array([now - one, one - two, two - five])

    def _same_changes(self, index: int) -> Floats:
        ago = np.array([BINS_PER_DAY, _WEEK])
        then = index - ago + np.arange(1, self._horizons + 1)[:, None]
        changes: Floats = self._past[then % self._past.size] - self._past[(index - ago) % self._past.size]
        return changes
