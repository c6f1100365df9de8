"""What a sizing advises against, in sentences."""

from collections.abc import Sequence
from itertools import groupby

from inference_fleet.throughput.fleetsize import Missed, Option
from inference_fleet.throughput.slo import Slo

_WORTH = 0.03
"""A wider split is advised against where the narrower one serves this much more for the same cost."""


def advice(options: Sequence[Option], missed: Sequence[Missed], slo: Slo) -> tuple[str, ...]:
    """Splits wider than needed, splits over PCIe, and what no split within a node reaches."""
    return (*_too_wide(options), *_over_pcie(options), *_out_of_reach(options, missed, slo))


def _too_wide(options: Sequence[Option]) -> list[str]:
    found = []
    for gpu, group in groupby(sorted(options, key=_by_gpu), key=lambda option: option.candidate.gpu):
        sizes = list(group)
        best = max(sizes, key=lambda option: option.value)
        wider = [
            option
            for option in sizes
            if option.candidate.tp > best.candidate.tp and best.value > (1 + _WORTH) * option.value
        ]
        if wider:
            worst = max(wider, key=lambda option: option.candidate.tp)
            more = 100 * (best.value / worst.value - 1)
            listed = ", ".join(str(option.candidate.tp) for option in wider)
            found.append(
                f"tensorParallelSize {listed} on {gpu} is wider than needed: {best.candidate.tp} keeps the SLO, and "
                f"{worst.candidate.tp} costs {more:.0f} % more per request."
            )
    return found


def _over_pcie(options: Sequence[Option]) -> list[str]:
    engines = {(option.candidate.gpu, option.candidate.tp): option.candidate.replica.engine for option in options}
    split = sorted(key for key, engine in engines.items() if engine.tp > 1 and not engine.speed.nvlink)
    return [
        f"{gpu} has no NVLink: the all-reduces of tensorParallelSize {', '.join(str(tp) for _, tp in sizes)} go over "
        "PCIe, which slows prompts most; the figures include it."
        for gpu, sizes in groupby(split, key=lambda key: key[0])
    ]


def _out_of_reach(options: Sequence[Option], missed: Sequence[Missed], slo: Slo) -> list[str]:
    reached = {option.candidate.gpu for option in options}
    found = []
    for gpu, group in groupby(sorted(missed, key=_by_gpu), key=lambda miss: miss.candidate.gpu):
        if gpu in reached:
            continue
        sizes = list(group)
        best = min(sizes, key=lambda miss: (miss.lone.ttft / slo.ttft) + (miss.lone.tpot / slo.tpot))
        found.append(
            f"{gpu} cannot keep the SLO within a node: the best, tensorParallelSize {best.candidate.tp}, gives a lone "
            f"request P95 TTFT {best.lone.ttft * 1000:.0f} ms and TPOT {best.lone.tpot * 1000:.1f} ms. A replica "
            "across nodes is advised against: each layer would wait for the network twice."
        )
    return found


def _by_gpu(item: Option | Missed) -> tuple[str, int]:
    return item.candidate.gpu, item.candidate.tp
