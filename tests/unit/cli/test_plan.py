import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from inference_fleet.cli.plan import command
from tests.unit.planning.shapes import H100, config

POOL = {"name": "h100", "gpu": H100, "replicas": {"min": 1, "max": 2}}


def service(**changes: Any) -> dict[str, Any]:
    spec = {"model": {"name": "m", "uri": "s3://models/m"}, "pools": [POOL], **changes}
    metadata = {"name": "chat", "namespace": "team-a"}
    return {"apiVersion": "inferencefleet.io/v1alpha1", "kind": "InferenceService", "metadata": metadata, "spec": spec}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config()))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 16_060_522_496}}))
    return folder


def run(tmp_path: Path, content: object, *options: object) -> Result:
    file = tmp_path / "service.yaml"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return CliRunner().invoke(command, ["-f", str(file), *map(str, options)])


def test_json_is_the_contract(tmp_path: Path, model: Path) -> None:
    result = run(tmp_path, json.dumps(service()), "--model-config", model, "--output", "json")
    assert result.exit_code == 0, result.output
    (pool,) = json.loads(result.stdout)["pools"]
    assert list(pool) == [
        "name",
        "gpu",
        "feasible",
        "engine",
        "memory",
        "kvCacheTokens",
        "maxConcurrency",
        "lock",
        "estimated",
        "problems",
    ]
    assert pool["engine"] == {
        "tensorParallelSize": 1,
        "maxModelLen": 131072,
        "maxNumSeqs": 1024,
        "gpuMemoryUtilization": 0.92,
        "enablePrefixCaching": True,
        "kvCacheDtype": "auto",
    }
    assert list(pool["memory"]) == [
        "gpuBytes",
        "weightsBytes",
        "activationBytes",
        "overheadBytes",
        "kvCacheBytes",
        "kvCacheBytesPerToken",
    ]
    assert pool["memory"]["kvCacheBytesPerToken"] == 131072
    assert pool["feasible"] is True
    assert pool["estimated"] is False
    assert pool["problems"] == []


def test_an_infeasible_plan_exits_1_with_its_reasons(tmp_path: Path, model: Path) -> None:
    pool = {**POOL, "engine": {"extraArgs": ["--gpu-memory-util", "0.99"]}}
    result = run(tmp_path, service(pools=[pool]), "--model-config", model, "--output", "json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["pools"][0]["problems"]
    assert found["reason"] == "LockedFlag"
    assert "gpuMemoryUtilization" in found["message"]


def test_the_table_is_a_bill_that_adds_up(tmp_path: Path, model: Path) -> None:
    result = run(tmp_path, service(), "--model-config", model)
    assert result.exit_code == 0
    for line in (
        "x gpuMemoryUtilization 0.92",
        "- weights",
        "- activations",
        "- CUDA context",
        "= KV cache",
        "= tokens",
    ):
        assert line in result.stdout
    figures = {
        line.strip()[:14]: float(line.partition(" GiB")[0].split()[-1])
        for line in result.stdout.splitlines()
        if " GiB" in line
    }
    spent = sum(value for label, value in figures.items() if label.startswith("- "))
    left = figures["= KV cache    "]
    usable = next(value for label, value in figures.items() if label.startswith("x gpu"))
    assert usable - spent == pytest.approx(left, abs=0.03)


def test_yaml_holds_every_locked_value_and_plans_to_the_same_lock(tmp_path: Path, model: Path) -> None:
    written = service()
    written["metadata"] |= {"uid": "1", "managedFields": [], "resourceVersion": "7"}
    written["status"] = {"observedGeneration": 1}
    result = run(tmp_path, written, "--model-config", model, "--output", "yaml")
    assert result.exit_code == 0, result.output
    locked = yaml.safe_load(result.stdout)
    assert locked["metadata"] == {"name": "chat", "namespace": "team-a"}
    assert "status" not in locked
    (pool,) = locked["spec"]["pools"]
    assert pool["tensorParallelSize"] == 1
    assert pool["engine"]["maxModelLen"] == 131072
    assert pool["engine"]["image"].startswith("vllm/")
    first = run(tmp_path, written, "--model-config", model, "--output", "json")
    again = run(tmp_path, locked, "--model-config", model, "--output", "json")
    assert json.loads(first.stdout)["pools"][0]["lock"] == json.loads(again.stdout)["pools"][0]["lock"]


def test_an_infeasible_plan_writes_no_yaml(tmp_path: Path, model: Path) -> None:
    result = run(tmp_path, service(pools=[{**POOL, "gpu": "H100"}]), "--model-config", model, "--output", "yaml")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "UnknownGPU" in result.stderr


def test_without_a_model_what_can_be_planned_is(tmp_path: Path) -> None:
    result = run(tmp_path, service(), "--output", "json")
    assert result.exit_code == 0
    (pool,) = json.loads(result.stdout)["pools"]
    assert pool["memory"] is None
    assert [found["reason"] for found in pool["problems"]] == ["ModelNotChecked"]


def test_a_config_file_alone_is_enough(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config()))
    result = run(tmp_path, service(), "--model-config", file, "--output", "json")
    assert result.exit_code == 0
    (pool,) = json.loads(result.stdout)["pools"]
    assert pool["memory"]["weightsBytes"] > 16_000_000_000
    assert "estimated" in pool["problems"][0]["message"]


def test_further_gpu_types_are_known(tmp_path: Path, model: Path) -> None:
    catalog = tmp_path / "gpus.yaml"
    gpu = {"name": "X", "vendor": "nvidia", "product": "NVIDIA-X", "memoryGiB": 40, "computeCapability": "9.0"}
    catalog.write_text(yaml.safe_dump({"gpus": [{**gpu, "bf16": True, "fp8": True, "gpusPerNode": 8}]}))
    result = run(
        tmp_path, service(pools=[{**POOL, "gpu": "NVIDIA-X"}]), "--model-config", model, "--gpu-catalog", catalog
    )
    assert result.exit_code == 0
    catalog.write_text("gpus: 7")
    assert "a list of GPU types is right" in run(tmp_path, service(), "--gpu-catalog", catalog).stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "neither YAML nor JSON"),
        ("[]", "one InferenceService object is right"),
        ("", "one InferenceService object is right"),
        ({**service(), "kind": "Deployment"}, "kind is 'Deployment'; InferenceService is right"),
        ({**service(), "apiVersion": "v1"}, "apiVersion is 'v1'; inferencefleet.io/v1alpha1 is right"),
        ({**service(), "metadata": {}}, "metadata.name"),
        ({**service(), "specs": {}}, "specs is not a field"),
        (service(shmSize=1), "spec.shmSize is not a known field"),
        (service(pools=[{**POOL, "tensorParallelSize": 3}]), "spec.pools[0].tensorParallelSize is 3"),
        (service(pools=[{"name": "a", "gpu": H100}]), "spec.pools[0].replicas is missing"),
        (service(pools=[{**POOL, "replicas": {"min": 3, "max": 2}}]), "replicas.min"),
        (service(pools=[POOL, POOL]), "pool names"),
        (service(engine={"extraArgs": ["--a b"]}), "spec.engine.extraArgs[0]"),
        (service(engine={"extraArgs": ["--x=1\n"]}), "spec.engine.extraArgs[0]"),
        ({**service(), "metadata": {"name": "chat-engines"}}, "headless Service"),
    ],
)
def test_bad_input_exits_2_with_a_sentence(tmp_path: Path, content: object, sentence: str) -> None:
    result = run(tmp_path, content)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_files_that_cannot_be_read_exit_2(tmp_path: Path) -> None:
    result = CliRunner().invoke(command, ["-f", str(tmp_path / "none.yaml")])
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr
    broken = tmp_path / "config.json"
    broken.write_text('{"hidden_size": 1}')
    assert "num_attention_heads is missing" in run(tmp_path, service(), "--model-config", broken).stderr


def processor_seconds() -> float:
    """Of all ended children: a busy machine makes a command late, not slow."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def test_the_command_imports_nothing_slow_and_answers_at_once(tmp_path: Path, model: Path) -> None:
    file = tmp_path / "service.yaml"
    file.write_text(yaml.safe_dump(service()))
    code = (
        "import sys; from inference_fleet.cli import main\n"
        f"try: main(['plan', '-f', {str(file)!r}, '--model-config', {str(model)!r}, '--output', 'json'])\n"
        "finally:\n"
        "    slow = {'kopf', 'kubernetes', 'aiohttp', 'obstore', 'rich'}\n"
        "    print(sorted(slow & set(sys.modules)), file=sys.stderr)"
    )
    took = []
    for _ in range(3):
        before = processor_seconds()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30)
        took.append(processor_seconds() - before)
    assert done.stderr.strip() == "[]"
    assert min(took) < 0.8
