import dataclasses

import pytest

from inference_fleet.throughput.roofline import Engine
from tests.unit.throughput.replicas import H200, dense_8b, dense_70b_fp8, experts, replica

L4 = "NVIDIA-L4"
B200 = "NVIDIA-B200"


def engine(*args: object, **kwargs: object) -> Engine:
    return replica(*args, **kwargs).engine  # type: ignore[arg-type]


def test_a_step_is_never_faster_than_the_data_sheet() -> None:
    for found in (engine(dense_8b()), engine(dense_70b_fp8(), tp=8), engine(experts(), H200)):
        ideal = found.work.plain_bytes / found.tp / found.speed.bandwidth
        assert found.step(1, 1000) > 1.1 * ideal


def test_each_doubling_of_the_split_gains_less() -> None:
    one, two, four, eight = (engine(dense_70b_fp8(), H200, tp).step(4, 2000) for tp in (1, 2, 4, 8))
    assert one > two > four > eight
    assert one / two > two / four > four / eight > 1.0
    assert one / eight < 4


def test_all_reduces_cost_more_over_pcie() -> None:
    found = engine(dense_8b(), tp=2)
    pcie = dataclasses.replace(found, speed=dataclasses.replace(found.speed, nvlink=False, link=25e9))
    assert pcie.step(8, 1000) > found.step(8, 1000)
    assert pcie.prefill(4096) > 1.5 * found.prefill(4096)


def test_a_longer_past_and_more_sequences_take_longer() -> None:
    found = engine(dense_8b())
    assert found.step(64, 4000) > found.step(64, 1000) > found.step(8, 1000)


def test_a_prompt_is_read_in_chunks_that_each_read_the_weights() -> None:
    found = engine(dense_8b(), L4, length=4096)
    assert found.batched_tokens == 2048
    assert found.chunks(2048) == 1
    assert found.chunks(2049) == 2
    assert found.prefill(4096) > 2 * found.prefill(2048)  # the second chunk attends to the first


def test_a_prompt_shares_its_steps_with_those_that_decode() -> None:
    found = engine(dense_8b())
    alone, beside = found.prefill(1024), found.prefill(1024, 64, 1000)
    assert alone < beside < alone + found.step(64, 1000)


def test_4_bit_floats_are_multiplied_where_the_gpu_can_and_unpacked_elsewhere() -> None:
    floats = experts(quantization_config={"quant_method": "mxfp4"})
    integers = experts(quantization_config={"quant_method": "awq", "bits": 4, "group_size": 64})
    assert engine(floats, B200).prefill(8192) < 0.7 * engine(integers, B200).prefill(8192)
    assert engine(floats).prefill(8192) == pytest.approx(engine(integers).prefill(8192), rel=0.02)
