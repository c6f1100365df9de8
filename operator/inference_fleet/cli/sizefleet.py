"""The fleet form of `size`: every GPU type at every legal tensor parallel size, the cheapest mix, what to avoid."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.cli import BadInput
from inference_fleet.cli.sizeinput import PricedGpu, expert_parallel, hardware_of
from inference_fleet.planning.parallelism import Split, legal_sizes
from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.throughput.advice import advice
from inference_fleet.throughput.fleetsize import (
    Candidate,
    Missed,
    Option,
    Part,
    cheapest_mix,
    size_fleet,
    transfer_rate,
)
from inference_fleet.throughput.replica import Planned, size_replica
from inference_fleet.throughput.slo import Load, Slo, Traffic


@dataclass(frozen=True, slots=True)
class Demand:
    """Requests per second, what they look like, and how fast they must be."""

    rate: float
    traffic: Traffic
    slo: Slo


@dataclass(frozen=True, slots=True)
class Refused:
    """A GPU type and size that the plan refuses."""

    gpu: str
    tp: int
    why: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What `size` found."""

    demand: Demand
    priced: bool
    options: tuple[Option, ...]
    missed: tuple[Missed, ...]
    refused: tuple[Refused, ...]
    mix: tuple[Part, ...]
    advice: tuple[str, ...]

    @property
    def mix_cost(self) -> float:
        """Per hour; GPUs where there are no prices."""
        return sum(part.candidate.cost(part.replicas) for part in self.mix)

    @property
    def transfer(self) -> float | None:
        """Bytes per second between prefill and decode replicas, were they apart."""
        if not self.options:
            return None
        return transfer_rate(self.options[0].candidate.replica, self.demand.traffic, self.demand.rate)

    def per_million(self, cost: float) -> float:
        """Of an hour's cost, what a million output tokens take."""
        return cost / (self.demand.rate * self.demand.traffic.output.mean * 3600 / 1e6)


def size_and_print(
    facts: ModelFacts, gpus: Sequence[PricedGpu], tp: int | None, demand: Demand, output: str, plot: Path | None
) -> bool:
    """Size, print, draw; whether any fleet serves the demand."""
    answer = _size(facts, gpus, tp, demand)
    if output == "json":
        click.echo(json.dumps(_json(answer), indent=2))
    else:
        from inference_fleet.cli.sizetable import print_fleet

        print_fleet(answer)
    if plot is not None and answer.options:
        _draw(answer, plot)
    if not answer.options:
        for refused in answer.refused:
            click.echo(f"inference-fleet: {refused.gpu}: {refused.why}", err=True)
        for sentence in answer.advice:
            click.echo(f"inference-fleet: {sentence}", err=True)
    return bool(answer.options)


def _size(facts: ModelFacts, gpus: Sequence[PricedGpu], tp: int | None, demand: Demand) -> Answer:
    priced = {gpu.price is not None for gpu in gpus}
    if len(priced) > 1:
        without = next(gpu.label for gpu in gpus if gpu.price is None)
        raise BadInput(f"--gpu {without} has no price, but others have; prices for all or for none are right.")
    catalog = GpuCatalog.builtin()
    image = RenderSettings(operator_image="").default_engine_image
    given, asked = demand.traffic.input, demand.traffic.output
    planned = Planned(
        facts, catalog, image, longest=round(given.p95 + asked.p95), typical=round(given.mean + asked.mean)
    )
    needs: list[str] = []
    candidates: list[Candidate] = []
    refused: list[Refused] = []
    for gpu in gpus:
        hardware = hardware_of(gpu.label, catalog)
        per_node = hardware.gpu.gpus_per_node
        for size in (tp,) if tp else _sizes(facts, per_node):
            sizing = size_replica(planned, hardware, size)
            needs += expert_parallel(sizing)
            if sizing.replica is None:
                refused.append(Refused(hardware.gpu.product, size, " ".join(sizing.refusals)))
            else:
                candidates.append(Candidate(hardware.gpu.product, per_node, gpu.price, sizing.replica))
    options, missed = size_fleet(candidates, demand.traffic, demand.slo, demand.rate)
    mix = cheapest_mix(options, demand.rate)
    advised = (*advice(options, missed, demand.slo), *needs)
    return Answer(demand, True in priced, options, missed, tuple(refused), mix, advised)


def _sizes(facts: ModelFacts, per_node: int) -> list[int]:
    """The sizes that a node allows, with sliced or with whole experts."""
    whole = legal_sizes(facts, per_node, Split(expert_parallel=True)) if facts.experts else ()
    return sorted({*legal_sizes(facts, per_node), *whole}) or [1]


def _draw(answer: Answer, plot: Path) -> None:
    try:
        from inference_fleet.cli.sizeplot import draw
    except ModuleNotFoundError:
        raise BadInput("--plot needs matplotlib, which comes with the extra inference-fleet[plot].") from None
    try:
        draw(answer, plot)
    except (OSError, ValueError) as error:
        raise BadInput(f"--plot {plot}: cannot be written: {error}.") from None


def _json(answer: Answer) -> dict[str, Any]:
    return {
        "estimated": True,
        "options": [_option(answer, option) for option in answer.options],
        "missed": [
            {"gpu": miss.candidate.gpu, "tensorParallelSize": miss.candidate.tp, **_latency(miss.lone)}
            for miss in answer.missed
        ],
        "refused": [{"gpu": no.gpu, "tensorParallelSize": no.tp, "message": no.why} for no in answer.refused],
        "cheapestMix": _mix(answer) if answer.mix else None,
        "prefillDecodeBytesPerSecond": None if answer.transfer is None else round(answer.transfer),
        "advice": list(answer.advice),
    }


def _option(answer: Answer, option: Option) -> dict[str, Any]:
    cost = option.cost if answer.priced else None
    return {
        "gpu": option.candidate.gpu,
        "tensorParallelSize": option.candidate.tp,
        "replicas": option.replicas,
        "gpus": option.gpus,
        "nodes": option.candidate.nodes(option.replicas),
        "costPerHour": cost if cost is None else round(cost, 4),
        "costPerMillionOutputTokens": cost if cost is None else round(answer.per_million(cost), 4),
        **_latency(option.load),
        "concurrencyPerReplica": round(option.load.concurrency, 2),
        "maxRequestsPerSecondPerReplica": round(option.limit.rate, 4),
        "maxConcurrencyPerReplica": int(option.limit.concurrency),
    }


def _latency(load: Load) -> dict[str, float]:
    return {"ttftP95Ms": round(load.ttft * 1000, 2), "tpotP95Ms": round(load.tpot * 1000, 3)}


def _mix(answer: Answer) -> dict[str, Any]:
    parts = [
        {
            "gpu": part.candidate.gpu,
            "tensorParallelSize": part.candidate.tp,
            "replicas": part.replicas,
            "gpus": part.replicas * part.candidate.tp,
            "nodes": part.candidate.nodes(part.replicas),
        }
        for part in answer.mix
    ]
    cost = answer.mix_cost if answer.priced else None
    return {
        "parts": parts,
        "costPerHour": cost if cost is None else round(cost, 4),
        "costPerMillionOutputTokens": cost if cost is None else round(answer.per_million(cost), 4),
    }
