"""What `size` reads from its options: GPU types and prices, concurrencies, lengths. Errors are sentences."""

from dataclasses import dataclass
from typing import Any

import click

from inference_fleet.catalog.gpus import GpuCatalog, is_part_of_gpu
from inference_fleet.cli import BadInput
from inference_fleet.planning.parallelism import SIZES
from inference_fleet.throughput.coefficients import speed_of
from inference_fleet.throughput.replica import Hardware, Sizing

_MOST_CONCURRENCY = 100_000
_MOST_PRICE = 10_000.0


@dataclass(frozen=True, slots=True)
class PricedGpu:
    """A GPU type, and what one costs for one hour."""

    label: str
    price: float | None


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


class Gpu(click.ParamType[PricedGpu]):
    """A node label, with the price of a GPU after an equals sign."""

    name = "LABEL[=PRICE]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> PricedGpu:
        """A label and perhaps a price; a sentence for a price that is none."""
        if isinstance(value, PricedGpu):
            return value
        label, given, text = str(value).partition("=")
        if not given:
            return PricedGpu(label, None)
        try:
            price = float(text)
        except ValueError:
            price = -1.0
        if not 0 < price <= _MOST_PRICE:
            raise BadInput(f"--gpu {label} has the price {text!r}; the cost of one GPU for one hour is right: 3.2.")
        return PricedGpu(label, price)


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


def expert_parallel(sizing: Sizing) -> tuple[str, ...]:
    """What extraArgs must hold for a sizing to be legal."""
    if not sizing.expert_parallel or sizing.plan.engine is None:
        return ()
    tp = sizing.plan.engine.tensor_parallel_size
    return (f"tensorParallelSize {tp} on {sizing.plan.gpu} needs --enable-expert-parallel in engine.extraArgs.",)
