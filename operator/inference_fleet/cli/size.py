"""`inference-fleet size`: how fast one replica is at a concurrency.

Exit status 0: the replica can run; 1: it cannot, and why stands on stderr; 2: the input is bad. Numbers are estimates:
they come from the plan and from coefficients fitted on published measurements, not from this model on this GPU.
"""

import json
from pathlib import Path
from typing import Any

import click

from inference_fleet.catalog.gpus import GpuCatalog, is_part_of_gpu
from inference_fleet.cli import BadInput
from inference_fleet.cli.input import load_model_facts
from inference_fleet.planning.parallelism import SIZES
from inference_fleet.resources.inputs import RenderSettings
from inference_fleet.throughput.coefficients import speed_of
from inference_fleet.throughput.estimate import Point, estimate
from inference_fleet.throughput.replica import Hardware, size_replica

IMPOSSIBLE = 1
_MOST_TOKENS = 10_000_000
_MOST_CONCURRENCY = 100_000


class ParallelSize(click.ParamType[int]):
    """What `tensorParallelSize` may be."""

    name = "|".join(map(str, SIZES))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """One of the sizes; a sentence for anything else."""
        if str(value) not in map(str, SIZES):
            raise BadInput(f"--tensor-parallel-size is {value!r}; one of {', '.join(map(str, SIZES))} is right.")
        return int(value)


class Concurrencies(click.ParamType[tuple[int, ...]]):
    """Whole numbers between commas."""

    name = "C[,C...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """One number or several; a sentence for anything else."""
        try:
            numbers = tuple(int(part) for part in str(value).split(","))
        except ValueError:
            numbers = ()
        if not numbers or not all(1 <= number <= _MOST_CONCURRENCY for number in numbers):
            raise BadInput(
                f"--concurrency is {value!r}; whole numbers from 1 to {_MOST_CONCURRENCY} are right: 1,8,64."
            )
        return numbers


@click.command()
@click.option(
    "--model-config", required=True, type=click.Path(path_type=Path), help="The model's folder, or its config.json."
)
@click.option("--gpu", required=True, metavar="LABEL", help="The node label nvidia.com/gpu.product.")
@click.option("--tensor-parallel-size", default=1, show_default=True, type=ParallelSize())
@click.option("--input-tokens", required=True, type=click.IntRange(1, _MOST_TOKENS), metavar="N", help="Of a prompt.")
@click.option("--output-tokens", required=True, type=click.IntRange(1, _MOST_TOKENS), metavar="N", help="Of an answer.")
@click.option("--concurrency", required=True, type=Concurrencies(), help="Requests at once, one row each.")
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", help="How to print.")
@click.pass_context
def command(
    ctx: click.Context,
    model_config: Path,
    gpu: str,
    tensor_parallel_size: int,
    input_tokens: int,
    output_tokens: int,
    concurrency: tuple[int, ...],
    output: str,
) -> None:
    """Estimate TTFT, TPOT and throughput of one replica.

    A row is feasible while the replica runs all its requests at once; past that they queue, which TTFT includes.
    """
    facts = load_model_facts(model_config)
    assert facts is not None  # noqa: S101 (the option is required)
    catalog = GpuCatalog.builtin()
    hardware = hardware_of(gpu, catalog)
    image = RenderSettings(operator_image="").default_engine_image
    length = input_tokens + output_tokens
    sizing = size_replica(facts, hardware, tensor_parallel_size, length=length, image=image, catalog=catalog)
    for message in sizing.refusals:
        click.echo(f"inference-fleet: {message}", err=True)
    replica = sizing.replica
    points = [None if replica is None else estimate(replica, input_tokens, output_tokens, c) for c in concurrency]
    if output == "json":
        rows = [_point_json(c, point) for c, point in zip(concurrency, points, strict=True)]
        click.echo(json.dumps({"points": rows}, indent=2))
    elif replica is not None:
        from inference_fleet.cli.sizetable import print_points

        slots = replica.slots(input_tokens, output_tokens)
        print_points(sizing.plan, facts, slots, [point for point in points if point is not None])
    ctx.exit(IMPOSSIBLE if replica is None else 0)


def hardware_of(label: str, catalog: GpuCatalog) -> Hardware:
    """The GPU type of a node label, with its speed. Raises BadInput with the nearest known labels."""
    found = catalog.find(label)
    if found is None:
        if is_part_of_gpu(label):
            raise BadInput(f"--gpu is {label}, a slice of a GPU; a whole GPU type is right.")
        nearest = ", ".join(catalog.nearest(label))
        raise BadInput(f"--gpu is {label}, which is not in the GPU catalogue; the nearest known types are {nearest}.")
    speed = speed_of(found.product)
    if speed is None:
        raise BadInput(f"--gpu is {label}, whose bandwidth and rate are not known here: it cannot be estimated.")
    return Hardware(found, speed)


def _point_json(concurrency: int, point: Point | None) -> dict[str, Any]:
    """A point by the command's contract; null where the replica cannot run."""
    if point is None:
        names = ("ttftMs", "tpotMs", "outputTokensPerSecond", "requestsPerSecond")
        return {"concurrency": concurrency, **dict.fromkeys(names), "feasible": False}
    return {
        "concurrency": concurrency,
        "ttftMs": round(point.ttft * 1000, 2),
        "tpotMs": round(point.tpot * 1000, 3),
        "outputTokensPerSecond": round(point.output_tokens, 2),
        "requestsPerSecond": round(point.requests, 4),
        "feasible": not point.queued,
    }
