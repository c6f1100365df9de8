"""What the engine takes besides weights, activations and KV cache, by cause. All figures are bytes on one GPU."""

from inference_fleet.catalog.engines import EngineVersion
from inference_fleet.catalog.gpus import GpuType
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.coefficients import FITTED, MIB, Coefficients

NCCL_PAIR = 342 * MIB
NCCL_MORE = 392 * MIB
"""Buffers of the collectives with two ranks, and with more (what aiconfigurator reserves)."""
EAGER = "--enforce-eager"


def overheads(
    facts: ModelFacts,
    gpu: GpuType,
    tp: int,
    seqs: int,
    version: EngineVersion,
    *,
    eager: bool,
    by: Coefficients = FITTED,
) -> tuple[tuple[str, int], ...]:
    """The causes that apply, and their bytes.

    CUDA graphs count since 0.21; before, the engine put them on top of its share, beside the KV cache.
    """
    nccl = 0 if tp == 1 else NCCL_PAIR if tp == 2 else NCCL_MORE
    graphs = facts.layers * capture_sizes(seqs) * by.graph if version.counts_graphs and not eager else 0
    parts = (
        ("CUDA context", by.context),
        ("NCCL", nccl),
        ("CUDA graphs", graphs),
        ("shared host memory", by.shared_host if gpu.shared_memory else 0),
        ("safety margin", by.margin),
    )
    return tuple(part for part in parts if part[1])


def capture_sizes(seqs: int) -> int:
    """How many batch sizes are captured: 1, 2, 4, by 8 up to 256, by 16 up to 512; at most twice `seqs`."""
    most = min(2 * seqs, 512)
    sizes = (1, 2, 4, *range(8, 257, 8), *range(272, 513, 16))
    return sum(size <= most for size in sizes)
