"""Daily and weekly shape of demand, learned online: one exponentially weighted mean per local slot.

Three profiles of different patience: every day alike, working days and weekends, each weekday. Which of them explains
the traffic is for the regression and the combiner to find out; where a finer one has seen too little, the coarser one
stands in for it, so a service of two days' age already has a day.
"""

import numpy as np

from inference_fleet.scaling.grid import BINS_PER_DAY, Floats

_WEEKEND = 5
_DAY, _KIND, _WEEKDAY = 0, 1, 3
"""Rows of the table: 1 for all days, 2 for working days and weekends, 7 for the weekdays."""
_PATIENCE = np.array([0.3] + [0.3] * 2 + [0.5] * 7)
_OUTLIER = 4.0
"""Deviations beyond this many typical ones are clipped: one outage or one flash crowd is not the shape of a day."""
LEVELS = 3


class Season:
    """The three profiles. `at` reads them; `learn` adds one known bin."""

    def __init__(self) -> None:
        self._profile = np.zeros((10, BINS_PER_DAY))
        self._seen = np.zeros((10, BINS_PER_DAY), dtype=np.int64)
        self._spread = np.zeros(10)

    def learn(self, slot: int, weekday: int, value: float) -> None:
        """Move each profile towards a known value."""
        for row in _rows(weekday):
            seen = int(self._seen[row, slot])
            error = value - self._profile[row, slot]
            if seen:
                spread = self._spread[row]
                self._spread[row] += 0.02 * (min(abs(error), 5 * spread if spread else abs(error)) - spread)
                limit = _OUTLIER * max(spread, 0.02 * abs(value))
                error = max(-limit, min(limit, error)) if seen > 1 else error
            self._profile[row, slot] += max(1.0 / (seen + 1), float(_PATIENCE[row])) * error
            self._seen[row, slot] += 1

    def at(self, slot: int, weekday: int) -> Floats:
        """The usual demand by each of the three profiles; NaN before the slot was seen once.

        Neighbours count half: ten minutes earlier or later tell nearly the same.
        """
        found = np.full(LEVELS, np.nan)
        for level, row in enumerate(_rows(weekday)):
            value = self._smooth(row, slot)
            found[level] = found[level - 1] if np.isnan(value) and level else value
        return found

    def _smooth(self, row: int, slot: int) -> float:
        if not self._seen[row, slot]:
            return float("nan")
        total, weight = 0.0, 0.0
        for neighbour, share in ((slot - 1, 0.5), (slot, 1.0), ((slot + 1) % BINS_PER_DAY, 0.5)):
            if self._seen[row, neighbour]:
                total += share * float(self._profile[row, neighbour])
                weight += share
        return total / weight


def _rows(weekday: int) -> tuple[int, int, int]:
    return _DAY, _KIND + (weekday >= _WEEKEND), _WEEKDAY + weekday
