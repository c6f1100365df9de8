"""Pools on a terminal: a verdict, the locked values, the bill, what is wrong and what would work."""

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from inference_fleet.cli.bill import Line
from inference_fleet.cli.console import printed
from inference_fleet.planning.plan import LockedEngine, PoolPlan


def print_pool(plan: PoolPlan, lines: list[Line]) -> None:
    """Print one pool to stdout: as wide as the terminal, or 120 columns without trailing spaces into a file or pipe."""
    with printed() as console:
        _print(console, plan, lines)


def _print(console: Console, plan: PoolPlan, lines: list[Line]) -> None:
    verdict = Text("feasible", "bold green") if plan.feasible else Text("infeasible", "bold red")
    lock = f"  lock {plan.lock}" if plan.lock else ""
    console.print(Text.assemble((plan.name, "bold"), f"  {plan.gpu}  ", verdict, lock))
    if plan.engine is not None:
        console.print(Padding(Text(_values(plan.engine)), (0, 0, 0, 2)))
    if lines:
        console.print(Padding(_bill(lines), (0, 0, 0, 2)))
    for problem in plan.problems:
        style = "yellow" if problem.warning else "red"
        text = Text.assemble((f"{problem.reason}{' (warning)' if problem.warning else ''}: ", style), problem.message)
        console.print(Padding(text, (0, 0, 0, 2)))
    console.print()


def _bill(lines: list[Line]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    for line in lines:
        table.add_row(line.label, line.figure, line.source)
    return table


def _values(engine: LockedEngine) -> str:
    def shown(value: int | None) -> str:
        return "left to the engine" if value is None else str(value)

    prefix_caching = "on" if engine.enable_prefix_caching else "off"
    return (
        f"tensorParallelSize {engine.tensor_parallel_size}, maxModelLen {shown(engine.max_model_len)}, "
        f"maxNumSeqs {shown(engine.max_num_seqs)}, gpuMemoryUtilization {engine.gpu_memory_utilization:g}, "
        f"prefix caching {prefix_caching}, kvCacheDtype {engine.kv_cache_dtype}, image {engine.image}"
    )
