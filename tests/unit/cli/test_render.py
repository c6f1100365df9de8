"""`inference-fleet render`: what a person at a shell sees."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from inference_fleet.cli import main

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 8192,
    "vocab_size": 128256,
    "torch_dtype": "bfloat16",
}


def service(**pool: Any) -> dict[str, Any]:
    return {
        "apiVersion": "inferencefleet.io/v1alpha1",
        "kind": "InferenceService",
        "metadata": {"name": "chat", "namespace": "team-a"},
        "spec": {
            "model": {"name": "llama", "uri": "s3://models/llama"},
            "pools": [{"name": "l4", "gpu": "NVIDIA-L4", "replicas": {"min": 5, "max": 9}, **pool}],
        },
    }


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    index = {"metadata": {"total_size": 16_060_522_496}, "weight_map": {}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def render(tmp_path: Path, what: object, *options: str) -> Result:
    file = tmp_path / "service.yaml"
    file.write_text(what if isinstance(what, str) else json.dumps(what))
    return CliRunner().invoke(main, ["render", "-f", str(file), *options])


def test_every_object_is_printed_in_the_order_of_applying(tmp_path: Path, model: Path) -> None:
    result = render(tmp_path, service(), "--model-config", str(model), "--image", "example.org/op:7")
    assert result.exit_code == 0, result.output
    objects = list(yaml.safe_load_all(result.stdout))
    assert [(each["kind"], each["metadata"]["name"]) for each in objects] == [
        ("Service", "chat"),
        ("Service", "chat-engines"),
        ("PodDisruptionBudget", "chat-l4"),
        ("Deployment", "chat-l4"),
    ]
    deployment = objects[-1]
    assert deployment["spec"]["replicas"] == 5 + 2
    assert deployment["spec"]["template"]["spec"]["initContainers"][0]["image"] == "example.org/op:7"
    assert all("ownerReferences" not in each["metadata"] for each in objects)


def test_json_is_a_list_of_the_same_objects(tmp_path: Path, model: Path) -> None:
    options = ["--model-config", str(model)]
    as_yaml = render(tmp_path, service(), *options)
    as_json = render(tmp_path, service(), *options, "--output", "json")
    listed = json.loads(as_json.stdout)
    assert (listed["apiVersion"], listed["kind"]) == ("v1", "List")
    assert listed["items"] == list(yaml.safe_load_all(as_yaml.stdout))


def test_another_vendors_gpus_are_asked_for_by_their_names(tmp_path: Path, model: Path) -> None:
    gpu = "AMD_Instinct_MI300X_OAM"
    result = render(tmp_path, service(gpu=gpu), "--model-config", str(model))
    pod = list(yaml.safe_load_all(result.stdout))[-1]["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"amd.com/gpu.product-name": gpu}
    assert "amd.com/gpu" in pod["containers"][0]["resources"]["limits"]


def test_an_impossible_plan_prints_its_problems_and_no_object(tmp_path: Path, model: Path) -> None:
    impossible = service(engine={"maxModelLen": 1_000_000})
    result = render(tmp_path, impossible, "--model-config", str(model))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "pool l4: " in result.stderr
    assert "Traceback" not in result.stderr


def test_bad_input_is_one_sentence_and_exit_2(tmp_path: Path) -> None:
    result = render(tmp_path, "kind: Pod\n")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("inference-fleet: ")
    assert result.stderr.count("\n") == 1
