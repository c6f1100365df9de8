"""Estimates of `size` on a terminal."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from inference_fleet.catalog.models import ModelFacts
from inference_fleet.cli.console import printed
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.throughput.estimate import Point

ESTIMATE = "Estimates, fitted on published measurements of other models: measure before you promise."


def print_points(plan: PoolPlan, facts: ModelFacts, slots: float, points: Sequence[Point]) -> None:
    """One line per concurrency, and where the queue begins."""
    table = Table.grid(padding=(0, 3))
    for _ in range(5):
        table.add_column(justify="right", no_wrap=True)
    table.add_column()
    table.add_row("concurrency", "TTFT", "TPOT", "tokens/s", "requests/s", "", style="bold")
    for point in points:
        table.add_row(
            f"{point.concurrency:g}",
            seconds(point.ttft),
            seconds(point.tpot),
            f"{point.output_tokens:,.0f}",
            f"{point.requests:,.2f}",
            Text("queues", "yellow") if point.queued else "",
        )
    tp = plan.engine.tensor_parallel_size if plan.engine else 1
    with printed() as console:
        console.print(Text.assemble((facts.architecture, "bold"), f"  {plan.gpu} x {tp}"))
        console.print(table)
        console.print(f"{slots:.0f} requests of these lengths run at once; more wait.", style="dim")
        console.print(ESTIMATE, style="dim")


def seconds(value: float) -> str:
    """A duration with three digits that matter."""
    if value < 1:
        return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"
