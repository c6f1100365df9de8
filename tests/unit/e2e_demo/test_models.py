"""The demo's models have the sizes of the published ones, and the operator reads them as such."""

import json

import pytest

from e2e.demo.models import LLAMA_8B, LLAMA_70B, MODELS, Llama
from inference_fleet.catalog.models import ModelFacts, model_facts


def facts(model: Llama) -> ModelFacts:
    files = model.files()
    sizes = {name: len(content) for name, content in files.items() if name.endswith(".safetensors")}
    return model_facts(json.loads(files["config.json"]), json.loads(files["model.safetensors.index.json"]), sizes)


def test_the_8b_has_the_bytes_and_shards_of_the_published_checkpoint() -> None:
    index = LLAMA_8B.index()
    assert index["metadata"]["total_size"] == 16_060_522_496
    assert len(index["weight_map"]) == 291
    assert len(set(index["weight_map"].values())) == 4


def test_the_70b_keeps_one_byte_per_linear_weight() -> None:
    found = facts(LLAMA_70B)
    assert found.quantization is not None
    assert found.quantization.fp8
    parameters = 70_553_706_496
    plain = 2 * 128_256 * 8192
    assert found.weights_bytes == pytest.approx(parameters + plain, rel=0.001)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_the_weights_count_by_the_index_and_not_by_the_stand_ins(model: Llama) -> None:
    files = model.files()
    index = json.loads(files["model.safetensors.index.json"])
    assert facts(model).weights_bytes == index["metadata"]["total_size"]
    assert not facts(model).weights_estimated
    shards = {name: content for name, content in files.items() if name.endswith(".safetensors")}
    assert shards.keys() == set(index["weight_map"].values())
    for content in shards.values():
        length = int.from_bytes(content[:8], "little")
        assert length == len(content) - 8
        assert json.loads(content[8:]).keys() == {"__metadata__"}
    assert sum(map(len, files.values())) < 1 << 20
