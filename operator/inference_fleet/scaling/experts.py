"""The experts: simple forecasts with different beliefs about what the next half hour is like."""

from dataclasses import dataclass

import numpy as np

from inference_fleet.scaling.grid import BINS_PER_DAY, Floats
from inference_fleet.scaling.regression import Regression

NAMES = ("last", "season", "week", "ratio", "regression", "holtWinters")
LAST = 0
_KEPT = 0.9
"""Share of a deviation from the usual that is still there a bin later."""
_RATIO = (0.2, 5.0)
_LEVEL_GAIN, _SHAPE_GAIN = 0.4, 0.2

START = np.array([0.25, 0.25, 0.3, -0.1, 0.0, 0.0, 0.0, 0.1, 0.1, 0.0])
"""The regression before it has learned: follow the season mostly, and fall back to it slowly."""


class HoltWinters:
    """Additive, level and daily shape, no trend: a trend extrapolated over half an hour overshoots every peak."""

    def __init__(self) -> None:
        self._level = np.nan
        self._shape = np.zeros(BINS_PER_DAY)
        self._seen = np.zeros(BINS_PER_DAY, dtype=np.bool_)

    def learn(self, slot: int, value: float) -> None:
        """Add a known bin."""
        before = value if np.isnan(self._level) else self._level
        self._level = before + _LEVEL_GAIN * (value - self._shape[slot] - before)
        gain = _SHAPE_GAIN if self._seen[slot] else 1.0
        self._shape[slot] += gain * (value - before - self._shape[slot])
        self._seen[slot] = True

    def forecast(self, slots: list[int]) -> Floats:
        """Level plus shape; NaN where a slot was never seen."""
        return np.where(self._seen[slots], self._level + self._shape[slots], np.nan)


@dataclass(frozen=True, slots=True)
class Past:
    """What the experts look at after a bin. Usual demand has three columns: season.Season.at."""

    value: float
    """The last bin."""
    scale: float
    """Typical demand, above 0."""
    usual_now: Floats
    usual_then: Floats
    """Horizons x 3."""
    changes: Floats
    """The last three changes: one, one and three bins long; NaN where unknown."""
    same_changes: Floats
    """Horizons x 2: the change over the same horizon a day and a week ago; NaN where unknown."""
    slots: list[int]
    """Local slot of the day, per horizon."""

    def features(self) -> Floats:
        """One row per horizon for the regression, in units of the scale; what is unknown changes nothing (0)."""
        row = np.zeros((self.usual_then.shape[0], START.size))
        usual = self.usual_then - self.usual_now
        row[:, 0:3] = usual
        row[:, 3] = self.value - self.usual_now[1]
        row[:, 4:7] = self.changes
        row[:, 7:9] = np.where(np.isnan(self.same_changes), usual[:, 1:3], self.same_changes)
        row /= self.scale
        row[:, 9] = 0.1
        return np.nan_to_num(row)


def forecasts(past: Past, features: Floats, regression: Regression, holt_winters: HoltWinters) -> Floats:
    """Experts x horizons; NaN where an expert cannot say. Demand is never below 0."""
    horizons = np.arange(1, past.usual_then.shape[0] + 1)
    found = np.full((len(NAMES), horizons.size), np.nan)
    found[LAST] = past.value
    kept = _KEPT**horizons
    found[1] = past.usual_then[:, 1] + kept * (past.value - past.usual_now[1])
    found[2] = past.usual_then[:, 2] + kept * (past.value - past.usual_now[2])
    found[3] = past.value * np.clip(past.usual_then[:, 2] / max(past.usual_now[2], 0.02 * past.scale), *_RATIO)
    found[4] = past.value + past.scale * regression.predict(features)
    found[5] = holt_winters.forecast(past.slots)
    bounded: Floats = np.maximum(found, 0.0)
    return bounded
