"""Quantiles without assumptions on the distribution: how far past forecasts were off, at this horizon, of late.

A score is the error of a forecast in units of the scale that was stated with it, so quiet hours do not inherit the
width of busy ones. The level asked of the scores is corrected online by what was covered (adaptive conformal
inference, Gibbs and Candes 2021): where 90 % turn out to cover 85 %, it asks for more.
"""

import numpy as np

from inference_fleet.scaling.grid import Floats

LEVELS = np.array([0.5, 0.9, 0.95, 0.99])
P50, P90, P95, P99 = range(4)
_WINDOW = 1008
"""Scores kept: a week."""
_FEWEST = 12
_ASSUMED = np.array([0.0, 1.5, 2.0, 3.0])
"""Quantiles of the score before enough are known."""
_STEPS = np.array([0.01, 0.01, 0.005, 0.001])
"""How far one miss moves a level: by its own chance of a miss, so that 99 % is not thrown about by one burst."""
_LOWEST = np.maximum(LEVELS - 2 * (1 - LEVELS), 0.1)
_HIGHEST = LEVELS + 0.9 * (1 - LEVELS)


class Scores:
    """Rings of recent scores, one per horizon."""

    def __init__(self, horizons: int) -> None:
        self._ring = np.full((horizons, _WINDOW), np.nan)
        self._seen = np.zeros(horizons, dtype=np.int64)
        self._levels = np.tile(LEVELS, (horizons, 1))

    def learn(self, scores: Floats, promised: Floats) -> None:
        """Add one score per horizon (NaN: none); `promised` are the quantiles (horizons x levels) stated for it."""
        usable = np.isfinite(scores)
        rows = np.flatnonzero(usable)
        self._ring[rows, self._seen[rows] % _WINDOW] = scores[rows]
        self._seen[rows] += 1
        missed = scores[:, None] > promised
        moved = np.clip(self._levels + _STEPS * (missed - (1 - LEVELS)), _LOWEST, _HIGHEST)
        self._levels = np.where(usable[:, None], moved, self._levels)

    def quantiles(self) -> Floats:
        """Per horizon, the score at each of LEVELS, between order statistics as numpy's default does."""
        found = np.tile(_ASSUMED, (self._seen.size, 1))
        ordered = np.sort(self._ring, axis=1)  # NaN, the empty places, come last
        for row, seen in enumerate(np.minimum(self._seen, _WINDOW)):
            if seen >= _FEWEST:
                place = self._levels[row] * (seen - 1)
                below = place.astype(np.int64)
                low = ordered[row, below]
                found[row] = low + (place - below) * (ordered[row, np.minimum(below + 1, seen - 1)] - low)
        return found
