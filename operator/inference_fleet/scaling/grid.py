"""Demand on a regular grid of ten minutes. What was not measured stays unknown (NaN): no data is not no load.

Absent, NaN, infinite and negative samples are unknown. A bin is known when at least half of the samples it could have
had were real; its mean drives the forecast, its highest sample tells how far single minutes stick out.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BIN_SECONDS = 600
BINS_PER_DAY = 86_400 // BIN_SECONDS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Demand:
    """Samples of demand at a regular step; `values[k]` holds from `start + k * step` for `step` seconds."""

    start: float
    """Unix seconds."""
    step: int
    """Seconds."""
    values: Floats
    """NaN where unknown."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Ten minutes of demand. `mean` and `high` are NaN where it is unknown."""

    index: int
    """Unix seconds // 600."""
    mean: float
    high: float


def known(values: Floats) -> Floats:
    """The samples with NaN for all that is not a real measurement of demand."""
    return np.where(np.isfinite(values) & (values >= 0), values, np.nan)


def bin_of(index: int, samples: Floats) -> Bin:
    """Summarize the samples that a bin could have had, NaN for those that are absent."""
    real = samples[np.isfinite(samples)]
    if real.size == 0 or 2 * real.size < samples.size:
        return Bin(index, float("nan"), float("nan"))
    return Bin(index, float(real.mean()), float(real.max()))


def bins(demand: Demand) -> Iterator[Bin]:
    """The whole bins of a series, in order. A sample counts in every bin during which it holds."""
    first = math.ceil(demand.start / BIN_SECONDS)
    end = demand.start + demand.values.size * demand.step
    for index in range(first, int(end // BIN_SECONDS)):
        begin = index * BIN_SECONDS - demand.start
        low = int(begin // demand.step)
        high = math.ceil((begin + BIN_SECONDS) / demand.step)
        yield bin_of(index, demand.values[low:high])
