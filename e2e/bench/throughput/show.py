"""Tables of errors on a terminal."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from e2e.bench.throughput.cases import Case
from e2e.bench.throughput.errors import Errors, Estimate, errors_by, median
from e2e.bench.throughput.rows import Group

_KEYS: Mapping[str, Callable[[Case], str]] = {
    "GPU": lambda case: case.row.gpu,
    "model": lambda case: f"{case.row.model.rsplit('/', 1)[-1]} {case.row.weight_dtype}",
    "": lambda _: "all",
}
_OPTIMISTIC = 0.2


def tables(title: str, cases: Sequence[Case], estimate: Estimate) -> None:
    """Print the errors by GPU, by model, and of all rows."""
    console = Console(highlight=False, width=110)
    console.print(f"\n{title}: median absolute error below the knee", style="bold")
    for name, key in _KEYS.items():
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(name, width=36, no_wrap=True)
        for heading in ("rows", "TPOT", "tokens/s", "TTFT c<=4", "knee within 2x", "optimistic past it"):
            table.add_column(heading, justify="right", no_wrap=True)
        for value, errors in errors_by(cases, estimate, key).items():
            table.add_row(value, *_cells(errors))
        console.print(table)


def left_out(skipped: Mapping[Group, str]) -> None:
    """Print the groups that were not estimated."""
    console = Console(highlight=False, width=110)
    for (model, gpu, tp), why in sorted(skipped.items()):
        console.print(f"left out: {model} on {gpu} x {tp}: {why}", style="dim")


def _cells(errors: Errors) -> list[str]:
    near = sum(abs(knee) <= 1 for knee in errors.knees)
    optimistic = sum(error > _OPTIMISTIC for error in errors.past)
    return [
        str(errors.rows),
        _percent(median(errors.tpot)),
        _percent(median(errors.rate)),
        _percent(median(errors.ttft)),
        f"{near} of {len(errors.knees)}" if errors.knees else "-",
        f"{optimistic} of {len(errors.past)}" if errors.past else "-",
    ]


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
