"""The replay of past traffic against a way of scaling. Strictly causal.

Demand is a step function: a sample holds from its time to the next. A scaler acts at the start of each minute, and once
more fifteen seconds after each sample, since a real one reads its metrics that often; at the moment a sample begins it
still sees the one before. Forecasts see whole bins that are over. So no decision depends on a sample that had not been
measured, and a test holds this by changing the future.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from inference_fleet.scaling.fleet import Fleet
from inference_fleet.scaling.grid import Demand, Floats

REACTION = 15.0
_TICK = 60.0


class Scaler(Protocol):
    """A way of scaling."""

    def __call__(self, now: float, demand: float | None) -> tuple[int, int]:
        """Serving and standby replicas, from the demand that was last measured (None: unknown)."""
        ...


@dataclass(frozen=True, slots=True)
class Replay:
    """What happened, one row per moment of decision, each lasting until the next."""

    at: Floats
    seconds: Floats
    demand: Floats
    """NaN where unknown."""
    wanted: Floats
    """Serving replicas asked for."""
    serving: Floats
    warm: Floats
    loading: Floats


def moments(demand: Demand) -> Iterator[tuple[float, float, int, int]]:
    """Each moment of decision: its time, how long it lasts, the sample in force and the sample last seen."""
    step = float(demand.step)
    for index in range(demand.values.size):
        begin = demand.start + index * step
        offsets = [0.0]
        if step > REACTION:
            offsets.append(REACTION)
        offsets += [minute * _TICK for minute in range(1, math.ceil(step / _TICK))]
        for offset, until in zip(offsets, [*offsets[1:], step], strict=True):
            yield begin + offset, until - offset, index, index if offset else index - 1


def replay(demand: Demand, scaler: Scaler, cold_start: float, first: int) -> Replay:
    """Run `scaler` over the traffic, from a fleet of `first` replicas that are up."""
    values = demand.values.tolist()
    fleet = Fleet(first, cold_start)
    rows: list[tuple[float, float, float, int, int, int, int]] = []
    for at, seconds, index, seen in moments(demand):
        last = values[seen] if seen >= 0 else math.nan
        serving, warm = scaler(at, last if math.isfinite(last) else None)
        fleet.scale(at, serving + warm)
        active = min(serving, fleet.up)
        rows.append((at, seconds, values[index], serving, active, fleet.up - active, fleet.loading))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 7).T
    return Replay(*columns)
