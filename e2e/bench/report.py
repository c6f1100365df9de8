"""What was measured, what it should have been, and the verdict."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. Every target is an upper bound; without one the number only explains another."""

    benchmark: str
    what: str
    measured: float
    unit: str
    target: float | None = None
    below: bool = True
    """Whether the target itself is too much; a count of writes may be equal to its target, zero."""

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is none."""
        if self.target is None:
            return None
        return self.measured < self.target if self.below else self.measured <= self.target


def missed(figures: Sequence[Figure]) -> list[Figure]:
    """The figures that miss their target."""
    return [figure for figure in figures if figure.met is False]


def as_json(services: int, figures: Sequence[Figure]) -> str:
    """Everything for other programs. What never came is infinite, and null here."""
    entries = [
        {
            "benchmark": figure.benchmark,
            "what": figure.what,
            "measured": round(figure.measured, 4) if math.isfinite(figure.measured) else None,
            "unit": figure.unit,
            "target": figure.target,
            "met": figure.met,
        }
        for figure in figures
    ]
    return json.dumps({"services": services, "met": not missed(figures), "figures": entries}, indent=2)


def show(services: int, figures: Sequence[Figure]) -> None:
    """Everything for a person."""
    table = Table(title=f"{services:,} services")
    table.add_column("benchmark")
    table.add_column("figure")
    table.add_column("target", justify="right")
    table.add_column("measured", justify="right")
    table.add_column("verdict")
    previous = ""
    for figure in figures:
        if previous not in ("", figure.benchmark):
            table.add_section()
        label = figure.benchmark if figure.benchmark != previous else ""
        previous = figure.benchmark
        table.add_row(label, figure.what, _target(figure), _number(figure.measured, figure.unit), _verdict(figure))
    Console().print(table)


def _target(figure: Figure) -> str:
    if figure.target is None:
        return ""
    return f"{'<' if figure.below else '≤'} {_number(figure.target, figure.unit)}"


def _verdict(figure: Figure) -> str:
    return {None: "", True: "[green]met[/]", False: "[bold red]missed[/]"}[figure.met]


def _number(value: float, unit: str) -> str:
    if not math.isfinite(value):
        return "never"
    text = f"{value:,.0f}" if value == int(value) or value >= 1000 else f"{value:.3g}"
    return f"{text} {unit}".rstrip()
