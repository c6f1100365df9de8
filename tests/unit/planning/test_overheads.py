import pytest

from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB, GpuCatalog
from inference_fleet.planning import memory
from inference_fleet.planning.activations import Batch, activations
from inference_fleet.planning.overheads import capture_sizes, overheads
from tests.unit.planning.shapes import H100, facts

OLD = engine_version("v:0.11.2")


def causes(tp: int, version: str, *, gpu: str = H100, eager: bool = False) -> list[str]:
    found = GpuCatalog.builtin().find(gpu)
    assert found is not None
    return [cause for cause, _ in overheads(facts(), found, tp, 256, engine_version(f"v:{version}"), eager=eager)]


def test_overheads_by_cause() -> None:
    assert causes(1, "0.20.0") == ["CUDA context", "safety margin"]
    assert causes(1, "0.21.0") == ["CUDA context", "CUDA graphs", "safety margin"]
    assert causes(2, "0.33.0") == ["CUDA context", "NCCL", "CUDA graphs", "safety margin"]
    assert causes(2, "0.33.0", eager=True) == ["CUDA context", "NCCL", "safety margin"]
    assert "shared host memory" in causes(1, "0.33.0", gpu="NVIDIA-GB10")


@pytest.mark.parametrize(("seqs", "sizes"), [(1, 2), (2, 3), (8, 5), (256, 51), (1024, 51)])
def test_graphs_are_captured_for_sizes_up_to_twice_the_sequences(seqs: int, sizes: int) -> None:
    assert capture_sizes(seqs) == sizes


def test_the_overhead_of_a_small_dense_model_is_as_logs_show_it() -> None:
    """An 8B model on a 24 GB card at 0.85: 23.57 GiB, 14.99 loaded, 3.78 left for the KV cache."""
    gpu = GpuCatalog.builtin().find("NVIDIA-GeForce-RTX-3090")
    assert gpu is not None
    other = activations(facts(), 1, Batch(2048, 256), OLD).peak
    other += sum(part for _, part in overheads(facts(), gpu, 1, 256, OLD, eager=False))
    left = memory.requested(int(23.57 * GIB), 0.85) - memory.weights(facts(), 1) - other
    assert left / GIB == pytest.approx(3.78, rel=0.04)
