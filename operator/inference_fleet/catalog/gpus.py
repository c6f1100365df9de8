"""GPU types: what a node label stands for.

The built-in types are in `gpus.yaml`; entries of the same shape extend or replace them. A label matches by its exact
product name first, then by the longest product that it begins with (drivers append suffixes). Labels of time slices
(-SHARED), MIG slices (-MIG-1g.5gb) and virtual GPUs (-24Q) are parts of a GPU and match nothing: planned as a whole
GPU they would be overrun.
"""

import difflib
import functools
import importlib.resources
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

GIB = 1 << 30
_LABEL_KEYS = {"nvidia": "nvidia.com/gpu.product", "amd": "amd.com/gpu.product-name"}
_RESOURCES = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}
_PART = re.compile(r"-SHARED$|-MIG-|-[0-9]+(-[0-9]+)?[QCAB]$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BatchDefaults:
    """The engine's own defaults on a class of GPUs."""

    max_num_batched_tokens: int
    max_num_seqs: int


class GpuType(BaseModel):
    """One GPU type."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")

    name: str = Field(min_length=1)
    vendor: Literal["nvidia", "amd"]
    product: str = Field(min_length=1, max_length=63)
    memory_gib: float = Field(gt=0, alias="memoryGiB")
    compute_capability: str
    bf16: bool
    fp8: bool
    gpus_per_node: int = Field(ge=1, le=72)
    nvlink: bool = True
    """Whether the GPUs of a node are joined by NVLink or xGMI; else they talk over PCIe."""
    shared_memory: bool = False
    """Whether GPU and host share one memory."""

    @property
    def memory_bytes(self) -> int:
        """Device total as torch reports it."""
        return int(self.memory_gib * GIB)

    @property
    def label_key(self) -> str:
        """The node label that holds `product`."""
        return _LABEL_KEYS[self.vendor]

    @property
    def resource_name(self) -> str:
        """The extended resource that pods ask for."""
        return _RESOURCES[self.vendor]

    @property
    def capability(self) -> tuple[int, int] | None:
        """CUDA compute capability, None for other vendors."""
        found = re.fullmatch(r"(\d+)\.(\d+)", self.compute_capability)
        return (int(found[1]), int(found[2])) if found else None

    @property
    def batch_defaults(self) -> BatchDefaults:
        """What `vllm serve` batches if not told: by device memory, with the A100 held to the small row."""
        if self.memory_gib >= 160:
            return BatchDefaults(16_384, 1024)
        if self.memory_gib >= 70 and "A100" not in self.product.upper():
            return BatchDefaults(8192, 1024)
        return BatchDefaults(2048, 256)


def _normalised(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class GpuCatalog:
    """The known GPU types."""

    types: tuple[GpuType, ...]

    @classmethod
    def builtin(cls) -> "GpuCatalog":
        """The types that come with the package."""
        return _builtin()

    def extended(self, entries: Iterable[Mapping[str, Any]]) -> "GpuCatalog":
        """With further types; one of the same product replaces the known one. ValueError names a bad entry."""
        added = {gpu.product: gpu for gpu in map(_entry, entries)}
        return GpuCatalog((*(gpu for gpu in self.types if gpu.product not in added), *added.values()))

    def find(self, label: str) -> GpuType | None:
        """The type of a node label's value, None if it is unknown or only a part of a GPU."""
        if is_part_of_gpu(label):
            return None
        wanted = _normalised(label)
        best: GpuType | None = None
        for gpu in self.types:
            product = _normalised(gpu.product)
            if product == wanted:
                return gpu
            if wanted.startswith(f"{product}-") and (best is None or len(product) > len(_normalised(best.product))):
                best = gpu
        return best

    def nearest(self, label: str, count: int = 3) -> tuple[str, ...]:
        """The known products that look most like `label`: by words in common first, then by letters."""
        wanted = _normalised(label)
        words = set(wanted.split("-"))

        def likeness(gpu: GpuType) -> tuple[int, float]:
            product = _normalised(gpu.product)
            return len(words & set(product.split("-"))), difflib.SequenceMatcher(None, wanted, product).ratio()

        return tuple(gpu.product for gpu in sorted(self.types, key=likeness, reverse=True)[:count])


def is_part_of_gpu(label: str) -> bool:
    """Whether a label stands for a slice of a GPU."""
    return bool(_PART.search(label))


def _entry(entry: Mapping[str, Any]) -> GpuType:
    try:
        return GpuType.model_validate(entry)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        product = entry.get("product", "?") if isinstance(entry, Mapping) else entry
        raise ValueError(f"GPU type {product}: {field}: {first['msg']}.") from None


@functools.cache
def _builtin() -> GpuCatalog:
    text = importlib.resources.files(__package__).joinpath("gpus.yaml").read_text(encoding="utf-8")
    entries = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))["gpus"]  # noqa: S506 (a safe loader)
    return GpuCatalog(tuple(map(_entry, entries)))
