import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from inference_fleet.cli.size import command
from tests.unit.planning.shapes import H100, config


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config()))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 16_060_522_496}}))
    return folder


def run(model: Path, **changes: object) -> Result:
    given = {"gpu": H100, "input_tokens": 1000, "output_tokens": 250, "concurrency": "1,64", **changes}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return CliRunner().invoke(command, ["--model-config", str(model), *options])


def test_json_is_the_contract(model: Path) -> None:
    result = run(model, output="json", concurrency="1,64,5000", tensor_parallel_size=2)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert list(answer) == ["points"]
    for point in answer["points"]:
        assert list(point) == [
            "concurrency",
            "ttftMs",
            "tpotMs",
            "outputTokensPerSecond",
            "requestsPerSecond",
            "feasible",
        ]
    assert [(point["concurrency"], point["feasible"]) for point in answer["points"]] == [
        (1, True),
        (64, True),
        (5000, False),
    ]
    one = answer["points"][0]
    assert one["outputTokensPerSecond"] == pytest.approx(250 * one["requestsPerSecond"], rel=0.01)
    assert 2 < one["tpotMs"] < 10


def test_the_table_says_that_it_is_an_estimate(model: Path) -> None:
    result = run(model, concurrency="8,5000")
    assert result.exit_code == 0, result.output
    assert "Estimates" in result.stdout
    assert "queues" in result.stdout
    assert not any(line.endswith(" ") for line in result.stdout.splitlines())


def test_a_replica_that_cannot_run_is_no_point_and_exit_1(model: Path) -> None:
    (model / "model.safetensors.index.json").write_text(json.dumps({"metadata": {"total_size": 150_000_000_000}}))
    result = run(model, output="json", concurrency="8")
    assert result.exit_code == 1
    (point,) = json.loads(result.stdout)["points"]
    assert point == {
        "concurrency": 8,
        "ttftMs": None,
        "tpotMs": None,
        "outputTokensPerSecond": None,
        "requestsPerSecond": None,
        "feasible": False,
    }
    assert "What would work" in result.stderr


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"gpu": "NVIDIA-H100"}, "the nearest known types are NVIDIA-H100"),
        ({"gpu": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb"}, "a slice of a GPU"),
        ({"tensor_parallel_size": 3}, "--tensor-parallel-size is '3'; one of 1, 2, 4, 8, 16 is right."),
        ({"concurrency": "0"}, "--concurrency is '0'; whole numbers from 1"),
        ({"concurrency": "1,,2"}, "--concurrency is '1,,2'"),
        ({"concurrency": "many"}, "--concurrency is 'many'"),
        ({"input_tokens": 0}, "--input-tokens"),
        ({"output_tokens": "a"}, "--output-tokens"),
    ],
)
def test_bad_input_is_a_sentence_and_exit_2(model: Path, changes: dict[str, object], sentence: str) -> None:
    result = run(model, **changes)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_model_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    result = run(tmp_path / "nothing")
    assert result.exit_code == 2
    assert "cannot be read" in result.stderr


def test_it_answers_at_once(model: Path) -> None:
    levels = ",".join(str(2**power) for power in range(11))
    options = [f"--model-config={model}", f"--gpu={H100}", "--input-tokens=1000", "--output-tokens=250"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run(
        [
            sys.executable,
            "-c",
            "from inference_fleet.cli import main; main()",
            "size",
            *options,
            f"--concurrency={levels}",
            "--output=json",
        ],
        capture_output=True,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 3  # however busy the machine is
    assert len(json.loads(answer.stdout)["points"]) == 11


def fleet(model: Path, *gpus: str, **changes: object) -> Result:
    given = {"input_tokens": 1000, "output_tokens": 250, "qps": 40, **changes}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items() if value is not None]
    return CliRunner().invoke(command, ["--model-config", str(model), *(f"--gpu={gpu}" for gpu in gpus), *options])


def test_a_fleet_is_sized_for_every_gpu_and_legal_size(model: Path) -> None:
    result = fleet(model, f"{H100}=3", "NVIDIA-L4=0.7", output="json", input_tokens_p95=3000, output_tokens_p95=500)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert answer["estimated"] is True
    sizes = {(option["gpu"], option["tensorParallelSize"]) for option in answer["options"]}
    assert {(H100, tp) for tp in (1, 2, 4, 8)} <= sizes
    for option in answer["options"]:
        assert option["ttftP95Ms"] <= 2000
        assert option["tpotP95Ms"] <= 50
        assert option["gpus"] == option["replicas"] * option["tensorParallelSize"]
        assert option["maxRequestsPerSecondPerReplica"] * option["replicas"] >= 40
        price = 3 if option["gpu"] == H100 else 0.7
        assert option["costPerHour"] == pytest.approx(price * option["gpus"])
        assert option["costPerMillionOutputTokens"] == pytest.approx(
            option["costPerHour"] / (40 * 250 * 3600 / 1e6), rel=0.01
        )
    costs = [option["costPerHour"] for option in answer["options"]]
    assert costs == sorted(costs)
    assert answer["cheapestMix"]["costPerHour"] <= costs[0]
    assert answer["prefillDecodeBytesPerSecond"] == 40 * 1000 * 131_072


def test_without_prices_gpus_count(model: Path) -> None:
    answer = json.loads(fleet(model, H100, output="json").stdout)
    assert answer["options"][0]["costPerHour"] is None
    assert [option["gpus"] for option in answer["options"]] == sorted(option["gpus"] for option in answer["options"])


def test_the_fleet_table_names_the_mix_and_what_to_avoid(model: Path) -> None:
    result = fleet(model, f"{H100}=3")
    assert result.exit_code == 0, result.output
    for words in ("Cheapest mix", "wider than needed", "GB/s of KV cache", "Estimates"):
        assert words in result.stdout


def test_a_demand_that_no_fleet_serves_is_exit_1_and_says_what_is_reached(model: Path) -> None:
    result = fleet(model, "NVIDIA-L4=0.7", tpot_p95_ms=1)
    assert result.exit_code == 1
    assert "cannot keep the SLO within a node" in result.stderr


def test_the_picture_is_drawn(model: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "cost.png"
    result = fleet(model, f"{H100}=3", "NVIDIA-H200=4", plot=picture)
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("gpus", "changes", "sentence"),
    [
        ([f"{H100}=3", "NVIDIA-H200"], {}, "--gpu NVIDIA-H200 has no price, but others have"),
        ([f"{H100}=free"], {}, "has the price 'free'"),
        ([f"{H100}=-1"], {}, "has the price '-1'"),
        ([H100], {"input_tokens_p95": 10}, "--input-tokens-p95 is 10, below --input-tokens 1000"),
        ([H100], {"qps": 0}, "--qps"),
        ([H100], {"qps": None}, "one of --concurrency (a replica) and --qps (a fleet) is right."),
        ([H100], {"concurrency": 4}, "one of --concurrency (a replica) and --qps (a fleet) is right."),
        ([H100], {"qps": None, "concurrency": 4, "plot": "x.png"}, "--plot belongs to --qps"),
        ([H100, H100], {"qps": None, "concurrency": 4}, "--gpu is given 2 times"),
        ([H100], {"plot": "/nowhere/x.png"}, "--plot /nowhere/x.png: cannot be written"),
        ([H100], {"plot": "x.exe"}, "--plot x.exe: cannot be written"),
    ],
)
def test_bad_demands_are_a_sentence_and_exit_2(
    model: Path, gpus: list[str], changes: dict[str, object], sentence: str
) -> None:
    result = fleet(model, *gpus, **changes)
    assert result.exit_code == 2, result.output
    assert sentence in result.stderr


def test_sizes_that_need_whole_experts_are_sized_too(tmp_path: Path) -> None:
    shape = config(
        num_experts=64,
        num_experts_per_tok=4,
        moe_intermediate_size=768,
        quantization_config={"quant_method": "fp8", "weight_block_size": [128, 128]},
    )
    (tmp_path / "config.json").write_text(json.dumps(shape))
    answer = json.loads(fleet(tmp_path, H100, output="json").stdout)
    sizes = {option["tensorParallelSize"] for option in answer["options"]}
    assert {2, 4, 8} <= sizes
    assert any(
        "tensorParallelSize 8" in sentence and "--enable-expert-parallel" in sentence for sentence in answer["advice"]
    )
