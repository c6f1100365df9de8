"""Made-up traffic: people's days and weeks with noise, as the tests need it."""

import numpy as np

from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.grid import BINS_PER_DAY, Bin, Demand, bins

MONDAY = 1_767_571_200.0  # 2026-01-05T00:00:00Z
DAY = 86_400


def days(count: float, *, step: int = 600, noise: float = 0.03, weekend: float = 0.6, seed: int = 7) -> Demand:
    """Demand between 100 and 1000 with its peak at 15:00 UTC, less on weekends."""
    at = np.arange(0, count * DAY, step, dtype=np.float64)
    shape = 550 - 450 * np.cos(2 * np.pi * (at / DAY - 3 / 24))
    busy = np.where(at // DAY % 7 >= 5, weekend, 1.0)
    jitter = 1 + noise * np.random.default_rng(seed).standard_normal(at.size)
    return Demand(MONDAY, step, np.maximum(shape * busy * jitter, 0.0))


def bursts(count: float, *, step: int = 600, seed: int = 3) -> Demand:
    """Demand that wanders and jumps, without any rhythm."""
    random = np.random.default_rng(seed)
    size = int(count * DAY / step)
    level = np.exp(np.cumsum(0.06 * random.standard_normal(size)) * 0.5)
    jumps = np.where(random.random(size) < 0.03, random.uniform(1.5, 2.5, size), 1.0)
    return Demand(MONDAY, step, 500 * level / level.mean() * jumps)


def flat(value: float, count: float, *, step: int = 60) -> Demand:
    """The same demand all the time."""
    return Demand(MONDAY, step, np.full(int(count * DAY / step), value))


def binned(values: list[float] | np.ndarray[tuple[int], np.dtype[np.float64]], start: float = MONDAY) -> list[Bin]:
    """One bin per value."""
    return list(bins(Demand(start, 600, np.asarray(values, dtype=np.float64))))


def steady_forecast(start: float, p90: float, *, days: float = 7.0, point: float | None = None) -> Forecast:
    """Three bins that are all alike."""
    middle = p90 if point is None else point
    row = np.array([middle, p90, 1.05 * p90, 1.2 * p90])
    return Forecast(
        start=start,
        point=np.full(3, middle),
        quantiles=np.tile(row, (3, 1)),
        high=np.tile(row, (3, 1)),
        weights={"last": 1.0},
        skill=0.5,
        coverage=0.9,
        days=days,
        unknown_bins=0,
    )


__all__ = ["BINS_PER_DAY", "DAY", "MONDAY", "Calendar", "binned", "bursts", "days", "flat", "steady_forecast"]
