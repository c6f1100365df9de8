import dataclasses

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.throughput.coefficients import coefficients_of, speed_of


def test_every_gpu_type_of_the_catalogue_can_be_estimated() -> None:
    assert [gpu.product for gpu in GpuCatalog.builtin().types if speed_of(gpu.product) is None] == []


def test_every_family_has_coefficients_that_can_be() -> None:
    for gpu in GpuCatalog.builtin().types:
        speed = speed_of(gpu.product)
        assert speed is not None
        found = coefficients_of(speed.family)
        assert 0.4 < found.memory <= 1
        assert 0.1 < found.compute <= 1
        assert all(value > 0 for value in dataclasses.astuple(found))


def test_what_a_gpu_multiplies_follows_from_its_generation() -> None:
    a100, h100, b200 = map(speed_of, ("NVIDIA-A100-SXM4-80GB", "NVIDIA-H100-80GB-HBM3", "NVIDIA-B200"))
    assert a100 is not None
    assert h100 is not None
    assert b200 is not None
    assert a100.peak(8) is None
    assert h100.peak(8) == 2 * h100.flops16
    assert h100.peak(4) is None
    assert b200.peak(4) == 4 * b200.flops16


def test_an_unknown_gpu_has_no_speed() -> None:
    assert speed_of("NVIDIA-Z9") is None
