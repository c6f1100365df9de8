"""`inference-fleet backtest`: what the scaler would have done on past traffic, before it is trusted with any."""

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from inference_fleet.cli import BadInput
from inference_fleet.cli.traffic import load_traffic
from inference_fleet.scaling.backtest import TYPICAL_PEAK, Backtest, backtest, typical_capacity
from inference_fleet.scaling.calendar import Calendar
from inference_fleet.scaling.policy import Policy


@click.command()
@click.option("--traffic", "file", required=True, type=click.Path(path_type=Path), help="CSV file with a header.")
@click.option("--time-column", default="time", show_default=True, help="Unix seconds, ISO time or seconds from zero.")
@click.option("--value-column", default="value", show_default=True, help="Demand, such as tokens per second.")
@click.option(
    "--capacity",
    type=float,
    help="Demand that one replica carries; if left out, what makes the traffic's 99.9th percentile "
    f"{TYPICAL_PEAK} replicas.",
)
@click.option("--cold-start", default="5m", show_default=True, help="From creation to Ready, such as 90s or 5m.")
@click.option("--min", "minimum", type=click.IntRange(0), default=1, show_default=True, help="Fewest serving replicas.")
@click.option("--max", "maximum", type=click.IntRange(1), help="Most serving replicas; no bound if left out.")
@click.option(
    "--warm-percent",
    type=click.IntRange(0, 100),
    default=25,
    show_default=True,
    help="Most standby, in percent of the serving replicas.",
)
@click.option("--timezone", default="UTC", show_default=True, help="IANA zone of the traffic's days and weeks.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw the last week into this PNG file.")
def command(
    file: Path,
    time_column: str,
    value_column: str,
    capacity: float | None,
    cold_start: str,
    minimum: int,
    maximum: int | None,
    warm_percent: int,
    timezone: str,
    output: str,
    plot: Path | None,
) -> None:
    """Replay past traffic against the scaler, strictly causal, and against simpler ways of scaling.

    The first day is for learning; everything after it is scored.
    """
    if maximum is not None and maximum < minimum:
        raise BadInput(f"--max {maximum} is below --min {minimum}; at least {minimum} is right.")
    zone = _zone(timezone)
    refill = seconds("--cold-start", cold_start)
    traffic = load_traffic(file, time_column, value_column, zone)
    if capacity is not None and not 0 < capacity < float("inf"):
        raise BadInput(f"--capacity {capacity:g}; a number above 0, in the unit of the traffic, is right.")
    policy = Policy(
        capacity=typical_capacity(traffic.demand) if capacity is None else capacity,
        minimum=minimum,
        maximum=maximum,
        warm_percent=warm_percent,
        refill=refill,
    )
    result = backtest(traffic.demand, policy, Calendar(zone=zone))
    if plot is not None:
        _draw(result, zone, plot)
    if output == "json":
        for note in traffic.notes:
            click.echo(f"inference-fleet: {note}", err=True)
        click.echo(json.dumps(as_json(result), indent=2))
        return
    from inference_fleet.cli.backtesttable import print_backtest

    print_backtest(result, traffic.notes, zone, stated=capacity is not None)


def seconds(option: str, text: str) -> float:
    """A duration such as 90s, 5m or 1h30m, or a number of seconds. Raises BadInput."""
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?|(\d+(?:\.\d+)?)", text.strip())
    if not text.strip() or match is None:
        raise BadInput(f"{option} {text!r}; a duration like 90s, 5m or 1h30m is right.")
    hours, minutes, rest, plain = match.groups()
    total = float(plain) if plain else 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + int(rest or 0)
    if not 1 <= total <= 7200:
        raise BadInput(f"{option} {text!r}; between 1s and 2h is right.")
    return total


def as_json(result: Backtest) -> dict[str, Any]:
    """The command's contract, and with the forecast what explains it."""
    latest = [forecast for forecast in result.walk.forecasts.values() if forecast is not None]
    peak = result.walk.next_peak
    return {
        "policy": asdict(result.score),
        "baselines": {name: asdict(score) for name, score in result.baselines.items()},
        "forecast": {
            **asdict(result.forecast),
            "followed_pct": 100 * result.followed,
            "weights": dict(latest[-1].weights) if latest else {},
            "next_peak": None
            if peak is None
            else {"at": datetime.fromtimestamp(peak[0], UTC).isoformat(), "demand": peak[1]},
        },
    }


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadInput(f"--timezone {name!r}; an IANA name like Europe/Berlin is right.") from None


def _draw(result: Backtest, zone: ZoneInfo, path: Path) -> None:
    try:
        from inference_fleet.cli.backtestplot import draw
    except ImportError:
        raise BadInput("--plot needs matplotlib: pip install 'inference-fleet[plot]'.") from None
    try:
        draw(result, zone, path)
    except (OSError, ValueError) as error:
        raise BadInput(f"--plot {path}: cannot be written: {error}.") from None
