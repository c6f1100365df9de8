"""How far estimates are from measurements: below the knee, unloaded, where the knee is, and past it."""

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from e2e.bench.throughput.cases import Case
from inference_fleet.throughput.estimate import Point

UNLOADED = 4
"""Concurrency up to which TTFT counts as unloaded: the least that most sources measured."""
_LEAST_LEVELS = 4
_GAIN = 1.1
"""Below this gain of throughput for a doubling of concurrency a curve is past its knee."""
_JUMP = 4.0
"""Or where TTFT grows by more than this for a doubling."""


@dataclass(slots=True)
class Errors:
    """Relative errors, estimate over measurement less 1."""

    rows: int = 0
    tpot: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    ttft: list[float] = field(default_factory=list)
    knees: list[float] = field(default_factory=list)
    """Doublings between the estimated and the measured knee."""
    past: list[float] = field(default_factory=list)
    """Errors of throughput past the measured knee."""


Estimate = Callable[[Case], Point]


def errors_by(cases: Sequence[Case], estimate: Estimate, key: Callable[[Case], str]) -> dict[str, Errors]:
    """The errors of the cases, gathered by `key`."""
    found: dict[str, Errors] = defaultdict(Errors)
    for curve in _curves(cases):
        points = [estimate(case) for case in curve]
        measured = _knee([case.row.concurrency for case in curve], [(c.row.ttft, c.row.rate) for c in curve])
        estimated = _knee([case.row.concurrency for case in curve], [(p.ttft, p.output_tokens) for p in points])
        into = found[key(curve[0])]
        if len({case.row.concurrency for case in curve}) >= _LEAST_LEVELS and measured < curve[-1].row.concurrency:
            into.knees.append(math.log2(estimated / measured))
        for case, point in zip(curve, points, strict=True):
            _add(into, case, point, below=case.row.concurrency <= measured)
    return dict(sorted(found.items()))


def median(values: Iterable[float]) -> float | None:
    """The median of absolute values, None without any."""
    sizes = [abs(value) for value in values]
    return statistics.median(sizes) if sizes else None


def _add(into: Errors, case: Case, point: Point, *, below: bool) -> None:
    row = case.row
    into.rows += 1
    if not below:
        if row.rate:
            into.past.append(point.output_tokens / row.rate - 1)
        return
    if row.tpot:
        into.tpot.append(point.tpot / row.tpot - 1)
    if row.rate:
        into.rate.append(point.output_tokens / row.rate - 1)
    if row.ttft and row.concurrency <= UNLOADED:
        into.ttft.append(point.ttft / row.ttft - 1)


def _curves(cases: Sequence[Case]) -> list[list[Case]]:
    found: dict[object, list[Case]] = defaultdict(list)
    for case in cases:
        found[case.row.curve].append(case)
    return [sorted(curve, key=lambda case: case.row.concurrency) for curve in found.values()]


def _knee(levels: Sequence[int], values: Sequence[tuple[float | None, float | None]]) -> int:
    """The last concurrency before throughput stops growing or TTFT leaps; the highest if neither happens."""
    for place in range(1, len(levels)):
        doublings = math.log2(levels[place] / levels[place - 1])
        if doublings <= 0:
            continue
        (ttft, rate), (ttft_before, rate_before) = values[place], values[place - 1]
        if rate and rate_before and rate / rate_before < _GAIN**doublings:
            return levels[place - 1]
        if ttft and ttft_before and ttft / ttft_before > _JUMP ** max(1.0, doublings):
            return levels[place - 1]
    return levels[-1]
