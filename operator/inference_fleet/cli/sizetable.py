"""Estimates of `size` on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from inference_fleet.catalog.models import ModelFacts
from inference_fleet.cli.console import printed
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.throughput.estimate import Point
from inference_fleet.throughput.fleetsize import Option
from inference_fleet.throughput.slo import Lengths

if TYPE_CHECKING:
    from inference_fleet.cli.sizefleet import Answer

ESTIMATE = "Estimates, fitted on published measurements of other models: measure before you promise."
_LONGEST_WHY = 200


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


def print_fleet(answer: Answer) -> None:
    """One line per GPU type and tensor parallel size, the cheapest mix, the network of a split, what to avoid."""
    demand = answer.demand
    with printed() as console:
        console.print(
            f"{demand.rate:g} requests/s, {_length(demand.traffic.input)} tokens in, "
            f"{_length(demand.traffic.output)} out; P95 TTFT <= {seconds(demand.slo.ttft)}, "
            f"P95 TPOT <= {seconds(demand.slo.tpot)}",
            style="bold",
        )
        if answer.options:
            console.print(_options(answer))
            console.print(f"Cheapest mix: {_mix(answer)}")
        if answer.transfer is not None:
            rate = answer.transfer
            console.print(
                f"Prefill and decode apart would move {rate / 1e9:.2f} GB/s of KV cache ({rate * 8 / 1e9:.1f} Gbit/s)."
            )
        for sentence in answer.advice:
            console.print(Text.assemble(("Advice: ", "yellow"), sentence))
        for miss in answer.missed:
            lone = f"P95 TTFT {seconds(miss.lone.ttft)}, TPOT {seconds(miss.lone.tpot)}"
            console.print(f"{miss.candidate.gpu} x {miss.candidate.tp} misses the SLO: {lone} when idle.", style="dim")
        for no in answer.refused:
            why = no.why if len(no.why) <= _LONGEST_WHY else f"{no.why[: _LONGEST_WHY - 3]}..."
            console.print(f"{no.gpu} x {no.tp} cannot run: {why}", style="dim")
        console.print(ESTIMATE, style="dim")


def _options(answer: Answer) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold")
    for _ in range(10):
        table.add_column(justify="right", no_wrap=True)
    money = ("cost/h", "per 1M out") if answer.priced else ()
    heading = ("GPU", "TP", "replicas", "GPUs", "nodes", *money, "TTFT", "TPOT", "req/s each", "at once")
    table.add_row(*heading, style="bold")
    for option in answer.options:
        table.add_row(*_option(answer, option))
    return table


def _option(answer: Answer, option: Option) -> list[str]:
    cells = [
        option.candidate.gpu,
        str(option.candidate.tp),
        f"{option.replicas:,}",
        f"{option.gpus:,}",
        f"{option.candidate.nodes(option.replicas):,}",
    ]
    if answer.priced:
        cells += [f"{option.cost:,.2f}", f"{answer.per_million(option.cost):,.3f}"]
    limit = option.limit
    return [
        *cells,
        seconds(option.load.ttft),
        seconds(option.load.tpot),
        f"{limit.rate:,.2f}",
        f"{limit.concurrency:,.0f}",
    ]


def _mix(answer: Answer) -> str:
    parts = [
        f"{part.replicas:,} x {part.candidate.gpu} with tensorParallelSize {part.candidate.tp}" for part in answer.mix
    ]
    cost = answer.mix_cost
    price = f"{cost:,.2f} per hour, {answer.per_million(cost):,.3f} per million output tokens"
    return f"{' and '.join(parts)}: {price if answer.priced else f'{cost:,.0f} GPUs'}."


def _length(lengths: Lengths) -> str:
    return f"{lengths.mean:g}" if lengths.mean == lengths.p95 else f"{lengths.mean:g} (P95 {lengths.p95:g})"


def seconds(value: float) -> str:
    """A duration with three digits that matter."""
    if value < 1:
        return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 100 else f"{value:,.0f} s"
