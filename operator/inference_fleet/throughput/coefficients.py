"""The numbers that measured engines differ from data sheets by, one set per GPU family."""

import functools
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Efficiencies are shares of the data sheet's figure; times are microseconds."""

    memory: float
    """Bandwidth that reading weights and KV cache reaches."""
    compute: float
    """Rate that 16-bit matrix products reach."""
    compute_low: float
    """Of `compute`, what 8 and 4-bit products keep of their higher peak."""
    compute_experts: float
    """Of `compute`, what the small products of experts keep."""
    memory_experts: float
    """Of `memory`, what reading experts keeps."""
    unpacked: float
    """Of `memory` and `compute`, what weights keep that the GPU cannot multiply and unpacks to 16 bits: such kernels
    are written for the generation before."""
    memory_narrow: float
    """Of `memory`, what plain 4-bit weights keep that the GPU multiplies as they are: scales and small tiles."""
    skew: float
    """How far routing is from uniform; see ModelWork.touched."""
    step: float
    """Per step: scheduler, launches, sampling."""
    sequence: float
    """Per step and sequence: sampling, detokenising, streaming."""
    layer: float
    """Per step and layer."""
    expert_layer: float
    """Per step, layer and expert of a token: routing, sorting, small kernels."""
    unpacked_layer: float
    """Per step, layer and expert of a token, more where the weights are unpacked."""
    latent_layer: float
    """Per step and layer with latent attention: its extra projections."""
    prompt_layer: float
    """Per chunk of a prompt and layer: without CUDA graphs every kernel is launched by itself."""
    prompt_expert_layer: float
    """As `prompt_layer`, more for each expert of a token."""
    latency: float
    """Of the times per layer, what a family takes: hosts and launches differ."""
    split_layer: float
    """Per step, layer and log2 of the tensor parallel size: the latency of two all-reduces."""
    split_layer_pcie: float
    """As `split_layer`, between GPUs without NVLink."""
    link: float
    """Bandwidth that all-reduces reach."""
    request: float
    """Per request: HTTP, tokenising, scheduling, the first token's way back."""
    waiting: float
    """Of the prefills of all other running requests, how many a new one waits for on average: closed loops start and
    finish in waves."""


@dataclass(frozen=True, slots=True)
class Speed:
    """What a GPU type can do at best: bytes and operations per second."""

    product: str
    family: str
    bandwidth: float
    flops16: float
    flops8: float
    flops4: float
    link: float
    nvlink: bool

    def peak(self, bits: int) -> float | None:
        """The peak rate of products in a format of 8 or 4 bits, None where the GPU has none."""
        return {8: self.flops8, 4: self.flops4}.get(bits) or None


def speed_of(product: str) -> Speed | None:
    """The speed of a GPU type of the catalogue, None where it is not known."""
    return _speeds().get(product)


def coefficients_of(family: str) -> Coefficients:
    """The coefficients of a family in `hardware.yaml`."""
    return shipped_families()[family]


@functools.cache
def _speeds() -> dict[str, Speed]:
    return {entry["product"]: _speed(entry) for entry in _read("hardware.yaml")["gpus"]}


def _speed(entry: dict[str, Any]) -> Speed:
    flops = [value * 1e12 for value in entry["flops"]]
    return Speed(
        product=entry["product"],
        family=entry["family"],
        bandwidth=entry["bandwidth"] * 1e9,
        flops16=flops[0],
        flops8=flops[1],
        flops4=flops[2],
        link=entry["link"] * 1e9,
        nvlink=entry["nvlink"],
    )


def read_families(content: Mapping[str, Any]) -> dict[str, Coefficients]:
    """The coefficients of each family from those of `all` and its own."""
    return {name: Coefficients(**{**content["all"], **own}) for name, own in content["families"].items()}


@functools.cache
def shipped_families() -> dict[str, Coefficients]:
    """The coefficients of the package, by family."""
    return read_families(_read("coefficients.yaml"))


def _read(name: str) -> Any:
    text = importlib.resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 (a safe loader)
