"""`python -m e2e.bench.scaling DIR_OR_FILE ... [--output json] [--jobs N]`: the scaler on real traffic, per series.

Each CSV file is one series: its first column is the time, --value-column or the second its value. Every series is
scaled so that its 99.9th percentile fills 20 and 60 replicas, and replayed with cold starts of 5 and 15 minutes, all
defaults untouched. Series of ten minutes and more get 5 % of noise per minute (seeded): their minutes are not known.

Columns: `matched` is our cost over that of the cheapest simpler way of scaling whose headroom was tuned, in hindsight
and on this very series, to miss no more than ours. `flash x3` is a crowd of three times the usual demand, there within
two minutes and for an hour, at the series' last noon: the share of its demand that goes unserved, and the minutes until
it is met, ours / reactive alone. Exit status 1 where a target is missed.
"""

import argparse
import csv
import json
import sys
import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from functools import cache
from pathlib import Path

import numpy as np

from inference_fleet.cli import BadInput
from inference_fleet.cli.traffic import load_traffic
from inference_fleet.scaling.backtest import TYPICAL_PEAK, scored_from, typical_capacity
from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.grid import Bin, Demand, bins
from inference_fleet.scaling.policy import Policy
from inference_fleet.scaling.scalers import Predictive, Reactive, Walk, last_value_floor, seasonal_naive_floor, walk
from inference_fleet.scaling.score import Score, score, score_forecast
from inference_fleet.scaling.simulate import Replay, Scaler, replay

PEAKS = (20, 60)
COLD_STARTS = (300.0, 900.0)
MOST_DAYS = 28
NOISE = 0.05
HEADROOMS = (0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.75, 2.0, 2.5)
MOST_VIOLATION, MOST_ABOVE_BEST, COVERAGE = 1.0, 1.03, (0.85, 0.95)
CPU_MS = 5.0
_CROWD = 3600


@dataclass(frozen=True, slots=True)
class Row:
    """One series, fleet size and cold start."""

    series: str
    peak: int
    cold_start_min: float
    over_oracle: float
    violation_pct: float
    unserved_pct: float
    actions_per_day: float
    matched: float | None
    matched_by: str
    wape: float
    coverage_p90: float
    skill: float
    followed: float
    flash_unserved_pct: float
    flash_unserved_reactive_pct: float
    flash_recovery_min: float
    flash_recovery_reactive_min: float
    cpu_ms_per_bin: float
    cpu_ms_per_tick: float

    def missed(self) -> list[str]:
        """The targets that this row misses."""
        return [
            name
            for name, wrong in (
                ("violation", self.violation_pct > MOST_VIOLATION),
                ("matched cost", self.matched is not None and self.matched > MOST_ABOVE_BEST),
                ("coverage", not COVERAGE[0] <= self.coverage_p90 <= COVERAGE[1]),
                ("CPU", self.cpu_ms_per_bin + self.cpu_ms_per_tick > CPU_MS),
            )
            if wrong
        ]


def load(path: Path, value_column: str | None) -> Demand:
    """The last weeks of a series by the minute."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = next(csv.reader(file), [])
    if len(header) < 2:
        raise BadInput(f"{path}: {len(header)} columns; a time and a value are right.")
    demand = load_traffic(path, header[0], value_column or header[1], UTC).demand
    values = demand.values[-MOST_DAYS * 86_400 // demand.step :]
    start = demand.start + (demand.values.size - values.size) * demand.step
    if demand.step < 600:
        return Demand(start, demand.step, values)
    fine = np.repeat(values, demand.step // 60)
    jitter = 1 + NOISE * np.random.default_rng(1).standard_normal(fine.size)
    return Demand(start, 60, np.maximum(fine * jitter, 0.0))


def measure(path: Path, value_column: str | None) -> list[Row]:
    """All rows of one file."""
    demand = load(path, value_column)
    series = list(bins(demand))
    begin = time.process_time()
    walked = walk(series, Calendar(), Policy(capacity=1.0).horizons)
    cpu = 1000 * (time.process_time() - begin) / len(series)
    surged, crowd = _flash(demand)
    surge_walked = walk(list(bins(surged)), Calendar(), Policy(capacity=1.0).horizons)
    return [
        _row(path.stem, demand, series, walked, cpu, (surged, surge_walked, crowd), peak, cold)
        for peak in PEAKS
        for cold in COLD_STARTS
    ]


def _row(
    name: str,
    demand: Demand,
    series: list[Bin],
    walked: Walk,
    cpu: float,
    surge: tuple[Demand, Walk, float],
    peak: int,
    cold: float,
) -> Row:
    policy = Policy(capacity=typical_capacity(demand) * TYPICAL_PEAK / peak, refill=cold)
    since = scored_from(demand)
    begin = time.process_time()
    run, scaler = _ours(demand, walked, policy)
    tick = 1000 * (time.process_time() - begin) / run.at.size
    ours = score(run, policy, since)
    forecast = score_forecast(series, walked.forecasts, since)
    matched, by = _best(demand, series, policy, ours, since)
    surged, surge_walked, crowd = surge
    flash = _surge(_ours(surged, surge_walked, policy)[0], policy, crowd)
    alone = _surge(replay(surged, _reactive(policy, demand), cold, _first(policy, demand)), policy, crowd)
    counts = run.at >= since
    followed = np.array([decision.follows_forecast for decision in scaler.decisions])[counts]
    return Row(
        series=name,
        peak=peak,
        cold_start_min=cold / 60,
        over_oracle=ours.gpu_hours_over_oracle,
        violation_pct=ours.violation_minutes_pct,
        unserved_pct=ours.unserved_pct,
        actions_per_day=ours.scale_actions_per_day,
        matched=matched,
        matched_by=by,
        wape=forecast.wape or 0.0,
        coverage_p90=forecast.coverage_p90 or 0.0,
        skill=forecast.skill or 0.0,
        followed=float((followed * run.seconds[counts]).sum() / run.seconds[counts].sum()),
        flash_unserved_pct=flash[0],
        flash_unserved_reactive_pct=alone[0],
        flash_recovery_min=flash[1],
        flash_recovery_reactive_min=alone[1],
        cpu_ms_per_bin=cpu,
        cpu_ms_per_tick=tick,
    )


def _first(policy: Policy, demand: Demand) -> int:
    return policy.bounded(policy.replicas(float(demand.values[np.isfinite(demand.values)][0])))


def _ours(demand: Demand, walked: Walk, policy: Policy) -> tuple[Replay, Predictive]:
    first = _first(policy, demand)
    scaler = Predictive(policy, Calendar(), walked.forecasts, demand.start, first)
    return replay(demand, scaler, policy.refill, first), scaler


def _reactive(policy: Policy, demand: Demand) -> Scaler:
    return Reactive(policy, _first(policy, demand))


def _best(demand: Demand, series: list[Bin], policy: Policy, ours: Score, since: float) -> tuple[float | None, str]:
    """Our cost over that of the best tuned simpler way that misses no more, interpolated between headrooms."""
    floors: Mapping[str, tuple[Mapping[int, float] | None, int]] = {
        "reactive": (None, 0),
        "warm pool": (None, policy.warm_percent),
        "last value": (last_value_floor(series, policy.horizons), 0),
        "yesterday": (seasonal_naive_floor(series, policy.horizons), 0),
    }
    costs: list[tuple[float, str]] = []
    for name, (floor, pool) in floors.items():

        @cache
        def at(place: int, floor: Mapping[int, float] | None = floor, pool: int = pool) -> Score:
            scaler = Reactive(policy, _first(policy, demand), floor, pool, HEADROOMS[place])
            return score(replay(demand, scaler, policy.refill, _first(policy, demand)), policy, since)

        # More headroom misses less: the place where it begins to suffice is found by halving.
        enough = bisect_left(range(len(HEADROOMS)), True, key=lambda place: _misses_no_more(at(place), ours))
        if enough < len(HEADROOMS):
            costs.append((_between(at(enough - 1) if enough else None, at(enough), ours.violation_minutes_pct), name))
    cost, by = min(costs, default=(0.0, "-"))
    return (ours.gpu_hours / cost if cost else None), by


def _misses_no_more(found: Score, ours: Score) -> bool:
    return found.violation_minutes_pct <= ours.violation_minutes_pct


def _between(worse: Score | None, better: Score, violation: float) -> float:
    if worse is None:
        return better.gpu_hours
    share = (worse.violation_minutes_pct - violation) / (worse.violation_minutes_pct - better.violation_minutes_pct)
    return worse.gpu_hours + share * (better.gpu_hours - worse.gpu_hours)


def _flash(demand: Demand) -> tuple[Demand, float]:
    """The series with a crowd of one hour at its last noon (UTC), and when that begins."""
    end = demand.start + demand.values.size * demand.step
    noon = (end - 8 * 3600) // 86_400 * 86_400 + 12 * 3600 - (86_400 if (end - 8 * 3600) % 86_400 < 43_200 else 0)
    first = int((noon - demand.start) // demand.step)
    values = demand.values.copy()
    size = _CROWD // demand.step
    factors = np.full(size, 3.0)
    factors[: max(1, 120 // demand.step)] = 2.0
    values[first : first + size] *= factors[: values[first : first + size].size]
    return replace(demand, values=values), demand.start + first * demand.step


def _surge(run: Replay, policy: Policy, crowd: float) -> tuple[float, float]:
    """Unserved percent of the crowd's hour, and minutes until nothing is short for the rest of it."""
    during = (run.at >= crowd) & (run.at < crowd + _CROWD) & np.isfinite(run.demand)
    at, seconds, demand = run.at[during], run.seconds[during], run.demand[during]
    short = np.maximum(demand - run.serving[during] * policy.capacity, 0.0)
    total = float((demand * seconds).sum())
    large = np.flatnonzero(short > 0.05 * demand)
    last = float(at[large[-1]] + seconds[large[-1]] - crowd) if large.size else 0.0
    return (100 * float((short * seconds).sum()) / total if total else 0.0), last / 60


def files(paths: list[Path]) -> Iterator[Path]:
    """The CSV files of folders, and files as they are."""
    for path in paths:
        yield from sorted(path.glob("*.csv")) if path.is_dir() else (path,)


def show(rows: list[Row]) -> None:
    """Print the table."""
    print(
        f"{'series':34}{'peak':>5}{'cold':>5}{'over':>7}{'viol%':>7}{'unserv%':>8}{'act/d':>6}{'matched':>9} {'by':10}"
        f"{'wape%':>6}{'cov%':>6}{'skill':>6}{'gate':>5}"
        f"  {'flash x3: unserved, recovery':30}{'ms/bin':>7}{'ms/tick':>8}"
    )
    for row in rows:
        matched = "-" if row.matched is None else f"{row.matched:.3f}"
        flash = (
            f"{row.flash_unserved_pct:.0f}/{row.flash_unserved_reactive_pct:.0f} %, "
            f"{row.flash_recovery_min:.0f}/{row.flash_recovery_reactive_min:.0f} min"
        )
        print(
            f"{row.series[:33]:34}{row.peak:5}{row.cold_start_min:5.0f}{row.over_oracle:7.3f}{row.violation_pct:7.2f}"
            f"{row.unserved_pct:8.3f}{row.actions_per_day:6.0f}{matched:>9} {row.matched_by:10}{100 * row.wape:6.1f}"
            f"{100 * row.coverage_p90:6.1f}{row.skill:6.2f}{row.followed:5.2f}  {flash:30}{row.cpu_ms_per_bin:7.2f}"
            f"{row.cpu_ms_per_tick:8.3f}  {', '.join(row.missed())}"
        )
    for cold in sorted({row.cold_start_min for row in rows}):
        mine = [row for row in rows if row.cold_start_min == cold]
        over, violation = (np.mean([getattr(row, key) for row in mine]) for key in ("over_oracle", "violation_pct"))
        print(f"mean, cold start {cold:g} min: {over:.3f}x the oracle, {violation:.2f} % violation minutes")


def main() -> int:
    """Measure every series; 0 all targets met, 1 one was missed, 2 bad arguments."""
    parser = argparse.ArgumentParser(prog="python -m e2e.bench.scaling", description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, metavar="DIR_OR_FILE")
    parser.add_argument("--value-column", help="default: the second column")
    parser.add_argument("--jobs", type=int, default=1, help="series at the same time (default: %(default)s)")
    parser.add_argument("--output", choices=("table", "json"), default="table")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with ProcessPoolExecutor(max_workers=arguments.jobs) as pool:
        for path, found in [
            (path, pool.submit(measure, path, arguments.value_column)) for path in files(arguments.paths)
        ]:
            try:
                rows += found.result()
            except BadInput as error:
                print(f"skipped: {error.message}", file=sys.stderr)
            else:
                print(f"measured {path.name}", file=sys.stderr)
    if not rows:
        parser.error("no series could be read")
    if arguments.output == "json":
        print(json.dumps([asdict(row) | {"missed": row.missed()} for row in rows], indent=2))
    else:
        show(rows)
    return 1 if any(row.missed() for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
