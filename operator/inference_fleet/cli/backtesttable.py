"""A backtest on a terminal: our scaler above the simpler ones, then how good the forecast was."""

import sys
from datetime import datetime, tzinfo

from rich.console import Console
from rich.table import Table

from inference_fleet.scaling.backtest import Backtest
from inference_fleet.scaling.score import Score

_PIPE_WIDTH = 120
_NAMES = {
    "static_peak": "static peak (known beforehand)",
    "reactive": "reactive",
    "reactive_warm_pool": "reactive, warm pool",
    "last_value_floor": "last-value floor, reactive",
    "seasonal_naive_floor": "yesterday's floor, reactive",
}


def print_backtest(result: Backtest, notes: tuple[str, ...], zone: tzinfo, *, stated: bool) -> None:
    """Print to stdout: as wide as the terminal, or 120 columns without trailing spaces into a file or pipe."""
    piped = not sys.stdout.isatty()
    console = Console(highlight=False, width=_PIPE_WIDTH if piped else None)
    with console.capture() as capture:
        console.print(_table(result))
        for line in (*notes, *_lines(result, zone, stated=stated)):
            console.print(line, markup=False)
    text = capture.get()
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in text.splitlines()) if piped else text)


def _table(result: Backtest) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for heading in ("GPU hours", "over oracle", "violation minutes", "unserved", "actions/day"):
        table.add_column(heading, justify="right")
    table.add_row("[bold]this scaler[/bold]", *_figures(result.score))
    for name, score in result.baselines.items():
        table.add_row(_NAMES[name], *_figures(score))
    return table


def _figures(score: Score) -> tuple[str, ...]:
    return (
        f"{score.gpu_hours:,.0f}",
        f"{score.gpu_hours_over_oracle:.2f}x",
        f"{score.violation_minutes_pct:.2f} %",
        f"{score.unserved_pct:.2f} %",
        f"{score.scale_actions_per_day:.0f}",
    )


def _lines(result: Backtest, zone: tzinfo, *, stated: bool) -> list[str]:
    def shown(value: float | None) -> str:
        return "-" if value is None else f"{100 * value:.1f} %"

    policy, forecast = result.policy, result.forecast
    since = datetime.fromtimestamp(result.since, zone).isoformat(sep=" ", timespec="minutes")
    lines = [
        f"forecast 20 min ahead: WAPE {shown(forecast.wape)}, P90 covers {shown(forecast.coverage_p90)}, "
        f"skill over the last value {shown(forecast.skill)}; it decided {100 * result.followed:.0f} % of the time",
        f"scored from {since}; a replica carries {policy.capacity:g}{'' if stated else ' (not stated: assumed)'} and "
        f"needs {policy.refill:g} s to start; a GPU hour is an hour of one replica, loading and standby included",
    ]
    if result.walk.next_peak is not None:
        at, demand = result.walk.next_peak
        when = datetime.fromtimestamp(at, zone).isoformat(sep=" ", timespec="minutes")
        lines.append(f"next peak {when}, about {demand:.4g} ({policy.replicas(demand)} replicas)")
    return lines
