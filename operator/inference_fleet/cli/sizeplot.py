"""The cost of a demand as a picture: how wide a replica should be, and what the fleet costs as the demand grows."""

import math
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from inference_fleet.cli.sizefleet import Answer
from inference_fleet.throughput.fleetsize import Option

_COLOURS = ("#0b6e99", "#d9730d", "#0f7b6c", "#ad1a72", "#6940a5", "#dfab01", "#64473a", "#e03e3e")
_GREY = "#6b6b6b"
_STEPS = 240


def draw(answer: Answer, path: Path) -> None:
    """Write the picture, PNG unless the name says another format. OSError or ValueError where that fails."""
    with mpl.rc_context({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 10.5}):
        figure = Figure(figsize=(12, 5.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        kinds = [
            (gpu, sorted(group, key=lambda option: option.candidate.tp))
            for gpu, group in groupby(sorted(answer.options, key=_by_gpu), key=lambda option: option.candidate.gpu)
        ]
        _width(left, kinds, priced=answer.priced)
        _growth(right, kinds, answer)
        figure.legend(
            *right.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8
        )
        traffic, slo = answer.demand.traffic, answer.demand.slo
        figure.suptitle(
            f"{traffic.input.mean:g} tokens in, {traffic.output.mean:g} out; P95 TTFT {slo.ttft * 1000:g} ms, "
            f"P95 TPOT {slo.tpot * 1000:g} ms. Estimates.",
            fontsize=9,
            color=_GREY,
        )
        figure.savefig(path, dpi=150)


def _by_gpu(option: Option) -> str:
    return option.candidate.gpu


def _width(axes: Axes, kinds: Sequence[tuple[str, Sequence[Option]]], *, priced: bool) -> None:
    """Requests per second for each unit of cost against the GPUs of a replica, up to the boundary of the node."""
    best = max(option.value for _, options in kinds for option in options)
    for (_, options), colour in zip(kinds, _colours(len(kinds)), strict=True):
        sizes, values = [option.candidate.tp for option in options], [option.value for option in options]
        axes.plot(sizes, values, "o-", color=colour, linewidth=1.8, markersize=5)
    node = max(options[0].candidate.gpus_per_node for _, options in kinds)
    edge = node * math.sqrt(2)
    axes.axvline(edge, color=_GREY, linestyle="--", linewidth=1)
    axes.axvspan(edge, edge * 2.2, color="#f1f1ef", zorder=0)
    axes.text(
        edge * 1.07, best * 1.05, f"beyond one node\n({node} GPUs):\nnot planned", va="top", color=_GREY, fontsize=8
    )
    axes.set_xscale("log", base=2)
    axes.set_xticks([2**power for power in range(int(math.log2(node)) + 1)])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(0.85, edge * 2.2)
    axes.set_ylim(0, best * 1.1)
    axes.set_xlabel("GPUs of a replica (tensor parallel size)")
    axes.set_ylabel(
        "requests/s within the SLO, per unit of cost and hour" if priced else "requests/s within the SLO, per GPU"
    )
    axes.set_title("How wide a replica should be", loc="left", fontweight="bold")
    axes.grid(axis="y", color="#e8e8e6", linewidth=0.8)


def _growth(axes: Axes, kinds: Sequence[tuple[str, Sequence[Option]]], answer: Answer) -> None:
    """What whole replicas of each GPU type's best size cost, against the demand."""
    demand = answer.demand.rate
    rates = [2 * demand * step / _STEPS for step in range(1, _STEPS + 1)]
    highest = 0.0
    for (gpu, options), colour in zip(kinds, _colours(len(kinds)), strict=True):
        option = min(options, key=lambda option: (option.cost, option.candidate.tp))
        limit = option.limit.rate
        costs = [option.candidate.cost(math.ceil(rate / limit - 1e-9)) for rate in rates]
        highest = max(highest, option.cost)
        label = f"{_short(gpu)} x {option.candidate.tp}"
        axes.step(rates, costs, where="post", color=colour, linewidth=1.6, label=label)
    cost = answer.mix_cost
    axes.axvline(demand, color=_GREY, linestyle="--", linewidth=1)
    axes.plot(
        [demand], [cost], marker="*", markersize=13, color="#37352f", linestyle="none", label="cheapest mix", zorder=5
    )
    axes.annotate(
        f"{cost:,.2f} per hour" if answer.priced else f"{cost:,.0f} GPUs",
        (demand, cost),
        textcoords="offset points",
        xytext=(9, -12),
        fontsize=8.5,
        fontweight="bold",
    )
    axes.set_xlim(0, 2 * demand)
    axes.set_ylim(0, min(2.1 * highest, 6 * cost))
    axes.set_xlabel(f"requests/s (the demand is {demand:g})")
    axes.set_ylabel("cost per hour" if answer.priced else "GPUs")
    axes.set_title("What the fleet costs", loc="left", fontweight="bold")
    axes.grid(axis="y", color="#e8e8e6", linewidth=0.8)


def _colours(count: int) -> list[str]:
    return [_COLOURS[number % len(_COLOURS)] for number in range(count)]


def _short(product: str) -> str:
    return product.removeprefix("NVIDIA-").replace("-", " ").replace("_", " ")
