"""Past traffic from a CSV file, on a regular step. What is not a real measurement stays unknown."""

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path

import numpy as np

from inference_fleet.cli import BadInput
from inference_fleet.scaling.grid import Demand, Floats, known

_UNKNOWN = frozenset({"", "nan", "null", "none", "n/a", "na", "inf", "+inf", "-inf", "infinity"})
_SHORTEST_STEP = 60
_LONGEST_STEP = 3600
_SHORTEST = 7200
_MOST_SAMPLES = 2_000_000
_REGULAR = 0.5
_CLEAR_OF_ZERO = 0.2


@dataclass(frozen=True, slots=True)
class Traffic:
    """A series, and what had to be said about it."""

    demand: Demand
    notes: tuple[str, ...]


def load_traffic(path: Path, time_column: str, value_column: str, zone: tzinfo) -> Traffic:
    """Read a CSV file with a header. Times without an offset are in `zone`. Raises BadInput."""
    rows = list(_rows(path, time_column, value_column, zone))
    if len(rows) < 2:
        raise BadInput(f"{path}: {len(rows)} rows of traffic; at least two hours of it are right.")
    table = np.array(rows)
    table = table[np.argsort(table[:, 0], kind="stable")]
    times, values = table[:, 0], known(table[:, 1])
    step = _step(path, times)
    index = np.rint((times - times[0]) / step).astype(np.int64)
    size = int(index[-1]) + 1
    if size > _MOST_SAMPLES:
        raise BadInput(f"{path}: {size} samples from first to last; at most {_MOST_SAMPLES} are right.")
    if size * step < _SHORTEST:
        raise BadInput(f"{path}: {size * step / 60:g} minutes of traffic; at least two hours are right.")
    regular = _mean_by(index, values, size)
    notes: list[str] = []
    if _zeros_are_gaps(regular):
        notes.append(f"{int((regular == 0).sum())} samples of 0 amid demand that is never low are read as gaps.")
        regular = np.where(regular == 0, np.nan, regular)
    if not (np.nan_to_num(regular) > 0).any():
        raise BadInput(f"{path}: {value_column} is never above 0; demand, such as tokens per second, is right.")
    gaps = int(np.isnan(regular).sum())
    if gaps:
        notes.append(f"{gaps} of {size} samples are unknown; they are neither learned nor scored.")
    return Traffic(Demand(float(times[0]), step, regular), tuple(notes))


def _rows(path: Path, time_column: str, value_column: str, zone: tzinfo) -> Iterator[tuple[float, float]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or []
            for option, column in (("--time-column", time_column), ("--value-column", value_column)):
                if column not in columns:
                    raise BadInput(f"{path}: no column {column!r}; {option} may be one of {', '.join(columns) or '-'}.")
            for row in reader:
                where = f"{path}: line {reader.line_num}"
                yield _time(where, row[time_column], zone), _value(where, value_column, row[value_column])
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: not a CSV file: {error}.") from None


def _time(where: str, text: str | None, zone: tzinfo) -> float:
    text = (text or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
        except (ValueError, OverflowError, OSError):
            raise BadInput(f"{where}: time {text!r}; seconds or a time like 2026-05-12T08:00:00Z is right.") from None
    if not 0 <= seconds < 1e11:
        raise BadInput(f"{where}: time {text!r}; Unix seconds, or seconds from zero, are right.")
    return seconds


def _value(where: str, column: str, text: str | None) -> float:
    text = (text or "").strip()
    if text.lower() in _UNKNOWN:
        return math.nan
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"{where}: {column} {text!r}; a number, or nothing where it is unknown, is right.") from None


def _step(path: Path, times: Floats) -> int:
    """Seconds from sample to sample. Finer ones than a minute are averaged to a minute."""
    apart = np.diff(times)
    apart = apart[apart > 0]
    if apart.size == 0:
        raise BadInput(f"{path}: all rows have the same time; one row per step of time is right.")
    step = float(np.median(apart))
    if np.mean(np.abs(apart - step) <= 0.1 * step) < _REGULAR:
        raise BadInput(f"{path}: rows come at no regular step; one row per minute, or per ten minutes, is right.")
    if step > _LONGEST_STEP:
        raise BadInput(f"{path}: rows are {step / 3600:g} hours apart; at most one hour is right.")
    return max(round(step), _SHORTEST_STEP)


def _mean_by(index: np.ndarray[tuple[int], np.dtype[np.int64]], values: Floats, size: int) -> Floats:
    real = np.isfinite(values)
    count = np.bincount(index[real], minlength=size)
    total = np.bincount(index[real], weights=values[real], minlength=size)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _zeros_are_gaps(values: Floats) -> bool:
    """Whether 0 means that nothing was measured: all other demand stays far above it.

    A service that is really idle at times passes through low demand on its way there and back; an exporter that is
    down for a while does not.
    """
    positive = values[values > 0]
    return bool((values == 0).any() and positive.size and positive.min() > _CLEAR_OF_ZERO * np.median(positive))
