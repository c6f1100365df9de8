"""`inference-fleet size`: how fast a replica is at a concurrency, or the fleet that serves a demand within an SLO.

Exit status 0: it can run; 1: it cannot, and why stands on stderr; 2: the input is bad. Numbers are estimates: they come
from the plan and from coefficients fitted on published measurements, not from this model on this GPU.
"""

import json
from pathlib import Path
from typing import Any

import click

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.cli import BadInput
from inference_fleet.cli.input import load_model_facts
from inference_fleet.cli.sizeinput import Concurrencies, Gpu, ParallelSize, PricedGpu, expert_parallel, hardware_of
from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.throughput.estimate import Point, estimate
from inference_fleet.throughput.replica import Planned, size_replica
from inference_fleet.throughput.slo import Lengths, Slo, Traffic

IMPOSSIBLE = 1
TOKENS = click.IntRange(1, 10_000_000)
_FLEET_ONLY = ("input_tokens_p95", "output_tokens_p95", "ttft_p95_ms", "tpot_p95_ms", "plot")


@click.command()
@click.option(
    "--model-config", required=True, type=click.Path(path_type=Path), help="The model's folder, or its config.json."
)
@click.option(
    "--gpu", "gpus", required=True, multiple=True, type=Gpu(), help="Node label nvidia.com/gpu.product; price per hour."
)
@click.option("--tensor-parallel-size", type=ParallelSize(), help="1 if left out; with --qps every legal size.")
@click.option("--input-tokens", required=True, type=TOKENS, metavar="N", help="Mean of a prompt.")
@click.option("--output-tokens", required=True, type=TOKENS, metavar="N", help="Mean of an answer.")
@click.option("--concurrency", type=Concurrencies(), help="One replica with so many requests at once, a row each.")
@click.option(
    "--qps", type=click.FloatRange(0, 1e7, min_open=True), metavar="N", help="A fleet for so many requests per second."
)
@click.option("--input-tokens-p95", type=TOKENS, metavar="N", help="The mean if left out.")
@click.option("--output-tokens-p95", type=TOKENS, metavar="N", help="The mean if left out.")
@click.option("--ttft-p95-ms", type=click.FloatRange(0, min_open=True), metavar="MS", help="SLO; 2000 if left out.")
@click.option("--tpot-p95-ms", type=click.FloatRange(0, min_open=True), metavar="MS", help="SLO; 50 if left out.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.png", help="Draw the cost.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print.")
@click.pass_context
def command(ctx: click.Context, /, model_config: Path, output: str, **given: Any) -> None:
    """Estimate a replica with --concurrency, or a fleet with --qps.

    A row of --concurrency is feasible while the replica runs all its requests at once; past that they queue, which TTFT
    includes. With --qps each --gpu is sized at every legal tensor parallel size, and the cheapest mix is named.
    """
    if (given["concurrency"] is None) == (given["qps"] is None):
        raise BadInput("one of --concurrency (a replica) and --qps (a fleet) is right.")
    facts = load_model_facts(model_config)
    assert facts is not None  # noqa: S101 (the option is required)
    if given["qps"] is None:
        possible = _replica(facts, output, given)
    else:
        from inference_fleet.cli.sizefleet import Demand, size_and_print

        demand = Demand(given["qps"], _traffic(given), _slo(given))
        possible = size_and_print(facts, given["gpus"], given["tensor_parallel_size"], demand, output, given["plot"])
    ctx.exit(0 if possible else IMPOSSIBLE)


def _replica(facts: ModelFacts, output: str, given: dict[str, Any]) -> bool:
    """Print one replica at the given concurrencies; whether it can run."""
    extra = [name for name in _FLEET_ONLY if given[name] is not None]
    if extra:
        raise BadInput(f"--{extra[0].replace('_', '-')} belongs to --qps, which is not given.")
    gpus: tuple[PricedGpu, ...] = given["gpus"]
    if len(gpus) != 1:
        raise BadInput(f"--gpu is given {len(gpus)} times; with --concurrency one is right.")
    catalog = GpuCatalog.builtin()
    hardware = hardware_of(gpus[0].label, catalog)
    prompt, answer, levels = given["input_tokens"], given["output_tokens"], given["concurrency"]
    image = RenderSettings(operator_image="").default_engine_image
    planned = Planned(facts, catalog, image, longest=prompt + answer, typical=prompt + answer)
    sizing = size_replica(planned, hardware, given["tensor_parallel_size"] or 1)
    for message in (*sizing.refusals, *expert_parallel(sizing)):
        click.echo(f"inference-fleet: {message}", err=True)
    replica = sizing.replica
    points = [] if replica is None else [estimate(replica, prompt, answer, level) for level in levels]
    if output == "json":
        rows = [_impossible(level) for level in levels] if replica is None else [_point(point) for point in points]
        click.echo(json.dumps({"points": rows}, indent=2))
    elif replica is not None:
        from inference_fleet.cli.sizetable import print_points

        print_points(sizing.plan, facts, replica.slots(prompt, answer), points)
    return replica is not None


def _traffic(given: dict[str, Any]) -> Traffic:
    lengths = []
    for name in ("input_tokens", "output_tokens"):
        mean, p95 = given[name], given[f"{name}_p95"]
        if p95 is not None and p95 < mean:
            option = name.replace("_", "-")
            raise BadInput(f"--{option}-p95 is {p95}, below --{option} {mean}; the P95 of a length is above its mean.")
        lengths.append(Lengths(mean, p95 or mean))
    return Traffic(*lengths)


def _slo(given: dict[str, Any]) -> Slo:
    return Slo((given["ttft_p95_ms"] or 2000) / 1000, (given["tpot_p95_ms"] or 50) / 1000)


def _point(point: Point) -> dict[str, Any]:
    """A point by the command's contract."""
    return {
        "concurrency": int(point.concurrency),
        "ttftMs": round(point.ttft * 1000, 2),
        "tpotMs": round(point.tpot * 1000, 3),
        "outputTokensPerSecond": round(point.output_tokens, 2),
        "requestsPerSecond": round(point.requests, 4),
        "feasible": not point.queued,
    }


def _impossible(concurrency: int) -> dict[str, Any]:
    names = ("ttftMs", "tpotMs", "outputTokensPerSecond", "requestsPerSecond")
    return {"concurrency": concurrency, **dict.fromkeys(names), "feasible": False}
