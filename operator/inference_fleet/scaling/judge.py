"""How well the experts, and all of them together, did lately at each horizon: weights, scales of error, skill.

An expert weighs by the inverse fourth power of its recent mean error: sharp enough that a good one is not diluted by
five others, never a single winner, so no expert's bad day is the fleet's.
"""

import numpy as np

from inference_fleet.scaling.experts import LAST, NAMES
from inference_fleet.scaling.grid import BINS_PER_DAY, Floats

_POWER = 4
_EXPERT_GAIN = 2 / BINS_PER_DAY
"""Half a day's memory for the experts' errors."""
_SPREAD_GAIN = 0.05
_SLOT_GAIN = 0.3
_SKILL_GAIN = 1 / (3 * BINS_PER_DAY)
"""Three days' memory for what is shown to people."""
_BURST = 5.0
"""A single error counts at most as this many typical ones."""
_OF_SPREAD, _OF_SLOT, _OF_POINT = 0.4, 0.3, 0.02


class Judge:
    """Running errors. `learn` adds those of one known bin; the rest reads them."""

    def __init__(self, horizons: int) -> None:
        self._experts = np.full((len(NAMES), horizons), np.nan)
        self._spread = np.full(horizons, np.nan)
        self._by_slot = np.full(BINS_PER_DAY, np.nan)
        self._combined = np.full(horizons, np.nan)
        self._last = np.full(horizons, np.nan)
        self._covered = np.full(horizons, np.nan)
        self._judged = np.zeros(horizons)

    def learn(self, slot: int, value: float, experts: Floats, point: Floats, p90: Floats) -> None:
        """Judge what was forecast for a known bin (experts x horizons; NaN: nothing was said)."""
        errors = np.abs(value - experts)
        error = np.abs(value - point)
        self._experts = _towards(self._experts, errors, _EXPERT_GAIN)
        bounded = np.where(np.isnan(self._spread), error, np.minimum(error, _BURST * self._spread))
        self._spread = _towards(self._spread, bounded, _SPREAD_GAIN)
        self._by_slot[slot] = _towards(self._by_slot[slot], bounded[0], _SLOT_GAIN)
        self._judged += np.isfinite(p90)
        # A plain mean until the memory is full: the first bins, forecast from nearly nothing, would weigh for days.
        gain = np.maximum(_SKILL_GAIN, 1 / np.maximum(self._judged, 1))
        self._combined = _towards(self._combined, error, gain)
        self._last = _towards(self._last, errors[LAST], gain)
        self._covered = _towards(self._covered, np.where(np.isnan(p90), np.nan, value <= p90), gain)

    def weights(self, experts: Floats, scale: float) -> Floats:
        """Shares of the experts per horizon, for what they say now; the last value where nothing is known yet."""
        usable = np.isfinite(experts) & np.isfinite(self._experts)
        power = np.maximum(self._experts, 1e-3 * scale) ** -_POWER
        weights = np.where(usable, power, 0.0)
        weights[LAST, ~usable.any(axis=0)] = 1.0
        shares: Floats = weights / weights.sum(axis=0)
        return shares

    def scales(self, point: Floats, slots: list[int], scale: float) -> Floats:
        """The size of error to expect per horizon: of late, at this time of the day, and for demand of this size."""
        spread = np.where(np.isnan(self._spread), 0.1 * scale, self._spread)
        growth = spread / max(float(spread[0]), 1e-9 * scale)
        by_slot = self._by_slot[slots]
        by_slot = np.where(np.isnan(by_slot), spread, by_slot * growth)
        # Not in proportion to the forecast alone: where that is near 0, any error would be infinitely large.
        scales: Floats = _OF_SPREAD * spread + _OF_SLOT * by_slot + _OF_POINT * np.maximum(point, 0.05 * scale)
        return scales

    def skill(self) -> float | None:
        """1 - error / error of the last value at the longest horizon; None before both are known."""
        mine, last = float(self._combined[-1]), float(self._last[-1])
        if np.isnan(mine) or np.isnan(last):
            return None
        return 1.0 - mine / last if last > 0 else 0.0

    def coverage(self) -> float | None:
        """Share of bins under their P90 at the longest horizon."""
        share = float(self._covered[-1])
        return None if np.isnan(share) else share


def _towards(running: Floats, new: Floats, gain: float | Floats) -> Floats:
    """Exponential mean; the first value as it is; NaN changes nothing."""
    step = np.where(np.isnan(running), new, running + gain * (new - running))
    return np.where(np.isnan(new), running, step)
