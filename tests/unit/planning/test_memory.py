import pytest

from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.gpus import GIB
from inference_fleet.planning import memory
from inference_fleet.planning.memory import Batch
from tests.unit.planning.shapes import config, facts, large

NEW = engine_version("v:0.33.0")
OLD = engine_version("v:0.11.2")


def test_the_usable_share_is_rounded_up() -> None:
    assert memory.requested(1001, 0.5) == 501


@pytest.mark.parametrize(
    ("kv_heads", "tp", "expected"), [(8, 1, 131072), (8, 2, 65536), (8, 8, 16384), (4, 8, 16384), (1, 8, 16384)]
)
def test_kv_bytes_are_split_and_replicated_beyond_the_kv_heads(kv_heads: int, tp: int, expected: int) -> None:
    assert memory.kv_bytes_per_token(facts(config(num_key_value_heads=kv_heads)), tp, 2) == expected


def test_a_latent_is_not_split() -> None:
    mla = facts(config(kv_lora_rank=512, qk_rope_head_dim=64, num_hidden_layers=61))
    assert memory.kv_bytes_per_token(mla, 8, 2) == memory.kv_bytes_per_token(mla, 1, 2) == 61 * 576 * 2


def test_layers_with_a_constant_state_keep_nothing_per_token() -> None:
    hybrid = facts(config(layer_types=["linear_attention"] * 24 + ["full_attention"] * 8))
    assert memory.kv_bytes_per_token(hybrid, 1, 2) == 8 * 8 * 256 * 2


@pytest.mark.parametrize(
    ("shape", "tp", "loaded"),
    [(config(), 1, 14.99), (large(), 8, 16.46)],
)
def test_weights_of_a_rank_are_what_engines_report(shape: dict[str, object], tp: int, loaded: float) -> None:
    assert memory.weights(facts(shape), tp) / GIB == pytest.approx(loaded, rel=0.001)


def test_more_ranks_than_kv_heads_keep_a_whole_kv_head_each() -> None:
    few = facts(config(num_key_value_heads=2))
    kept = 32 * 2 * 4096 * 128 * 2 * (1 - 2 / 8)
    assert memory.weights(few, 8) >= few.weights_bytes / 8 + kept
    assert memory.weights(few, 2) < few.weights_bytes / 2 + kept


def test_activations_are_the_larger_of_the_forward_and_the_sampler() -> None:
    assert memory.activations(facts(), 1, Batch(8192, 8), NEW) == 8192 * 2 * (3 * 4096 + 3 * 14336)
    assert memory.activations(facts(), 2, Batch(8192, 8), NEW) == 8192 * 2 * (3 * 4096 + 3 * 14336 // 2)
    assert memory.activations(facts(), 1, Batch(2048, 1024), NEW) == 1024 * 128256 * 6
    assert memory.activations(facts(), 1, Batch(2048, 256), OLD) == 256 * 128256 * 22


def test_overheads_by_cause() -> None:
    def causes(tp: int, version: str, *, eager: bool = False) -> list[str]:
        parts = memory.overheads(facts(), tp, 256, engine_version(f"v:{version}"), eager=eager)
        return [cause for cause, _ in parts]

    assert causes(1, "0.20.0") == ["CUDA context"]
    assert causes(1, "0.21.0") == ["CUDA context", "CUDA graphs"]
    assert causes(2, "0.33.0") == ["CUDA context", "NCCL", "CUDA graphs"]
    assert causes(2, "0.33.0", eager=True) == ["CUDA context", "NCCL"]


@pytest.mark.parametrize(("seqs", "sizes"), [(1, 2), (2, 3), (8, 5), (256, 51), (1024, 51)])
def test_graphs_are_captured_for_sizes_up_to_twice_the_sequences(seqs: int, sizes: int) -> None:
    assert memory.capture_sizes(seqs) == sizes


def test_the_overhead_of_a_small_dense_model_is_as_logs_show_it() -> None:
    """An 8B model on a 24 GB card at 0.85: 23.57 GiB, 14.99 loaded, 3.78 left for the KV cache."""
    other = memory.activations(facts(), 1, Batch(2048, 256), OLD)
    other += sum(part for _, part in memory.overheads(facts(), 1, 256, OLD, eager=False))
    left = memory.requested(int(23.57 * GIB), 0.85) - memory.weights(facts(), 1) - other
    assert left / GIB == pytest.approx(3.78, rel=0.02)
