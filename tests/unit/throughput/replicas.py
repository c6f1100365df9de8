"""Replicas that throughput tests are made of."""

from typing import Any

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelFacts, model_facts
from inference_fleet.throughput.coefficients import speed_of
from inference_fleet.throughput.estimate import Replica
from inference_fleet.throughput.replica import Hardware, Planned, Sizing, size_replica
from tests.unit.planning.shapes import H100, IMAGE, config, large

H200 = "NVIDIA-H200"
FP8 = {"quant_method": "fp8", "activation_scheme": "static"}


def dense_8b(**changes: Any) -> ModelFacts:
    """8 billion parameters in 16 bits."""
    return model_facts(config(**changes), {"metadata": {"total_size": 16_060_522_496}}, {})


def dense_70b_fp8() -> ModelFacts:
    """70 billion parameters in 8 bits."""
    return model_facts(large(quantization_config=FP8), {"metadata": {"total_size": 72_700_000_000}}, {})


def dense_32b() -> ModelFacts:
    """32 billion parameters in 16 bits."""
    shape = config(
        hidden_size=5120, intermediate_size=25_600, num_hidden_layers=64, num_attention_heads=64, vocab_size=151_936
    )
    return model_facts({**shape, "head_dim": 128}, {"metadata": {"total_size": 65_524_246_528}}, {})


def experts(**changes: Any) -> ModelFacts:
    """128 experts, of which a token visits 8."""
    shape = config(
        hidden_size=2048,
        num_hidden_layers=48,
        num_key_value_heads=4,
        head_dim=128,
        num_experts=128,
        num_experts_per_tok=8,
        moe_intermediate_size=768,
        vocab_size=151_936,
    )
    return model_facts({**shape, **changes}, {"metadata": {"total_size": 61_000_000_000}}, {})


def hardware(label: str = H100) -> Hardware:
    """A GPU type of the catalogue."""
    gpu = GpuCatalog.builtin().find(label)
    assert gpu is not None
    speed = speed_of(gpu.product)
    assert speed is not None
    return Hardware(gpu, speed)


def sizing(facts: ModelFacts, label: str = H100, tp: int = 1, length: int = 8192) -> Sizing:
    """The plan of a pool and its replica."""
    planned = Planned(facts, GpuCatalog.builtin(), IMAGE, longest=length, typical=length)
    return size_replica(planned, hardware(label), tp)


def replica(facts: ModelFacts, label: str = H100, tp: int = 1, length: int = 8192) -> Replica:
    """A replica that can run."""
    found = sizing(facts, label, tp, length).replica
    assert found is not None
    return found
