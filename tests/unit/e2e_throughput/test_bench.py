"""The benchmark of estimates, on measurements that are made from known coefficients."""

import csv
import dataclasses
from pathlib import Path

import pytest

from e2e.bench.throughput import fit
from e2e.bench.throughput.cases import Case
from e2e.bench.throughput.errors import errors_by, median
from e2e.bench.throughput.rows import Row, read_rows
from e2e.bench.throughput.shapes import Shapes
from inference_fleet.throughput.coefficients import Coefficients, coefficients_of
from tests.unit.throughput.replicas import dense_8b, dense_70b_fp8, replica

LEVELS = (1, 4, 16, 64, 256)


def measured(model: str, tp: int, families: dict[str, Coefficients], levels: tuple[int, ...] = LEVELS) -> list[Case]:
    """Cases whose measurements are what `families` give."""
    found = replica(dense_8b() if model == "8b" else dense_70b_fp8(), tp=tp)
    cases = []
    for level in levels:
        row = Row("s", model, "", "", "H100", tp, 1024, 1024, level, None, None, None, old=False)
        point = Case(row, found).point(families)
        row = dataclasses.replace(row, ttft=point.ttft, tpot=point.tpot, output_rate=point.output_tokens)
        cases.append(Case(row, found))
    return cases


def test_a_fit_comes_close_to_what_was_measured() -> None:
    prior = {"hopper": coefficients_of("hopper")}
    true = {"hopper": dataclasses.replace(prior["hopper"], layer=20.0, split_layer=30.0)}
    cases = [case for model, tp in (("8b", 1), ("70b", 2), ("70b", 8)) for case in measured(model, tp, true)]
    found = fit.fitted(cases, prior, 6)

    def error(families: dict[str, Coefficients]) -> float:
        (errors,) = errors_by(cases, lambda case: case.point(families), lambda _: "all").values()
        return median(errors.tpot) or 0.0

    assert error(prior) > 0.07
    assert error(found) < 0.03
    assert found["hopper"].split_layer > 1.3 * prior["hopper"].split_layer
    # two of the rows are past the knee
    assert "hopper:  # 13 rows of 3 groups" in fit.as_yaml(found, cases)


def test_errors_are_those_of_the_estimate_and_the_knee_is_where_ttft_leaps() -> None:
    true = {"hopper": coefficients_of("hopper")}
    slower = {"hopper": dataclasses.replace(true["hopper"], memory=0.4)}
    cases = measured("8b", 1, true, (1, 16, 64, 256, 512, 1024, 2048))
    (exact,) = errors_by(cases, lambda case: case.point(true), lambda _: "all").values()
    assert median(exact.tpot) == 0
    assert exact.knees == [0.0]
    assert len(exact.past) > 0
    (wrong,) = errors_by(cases, lambda case: case.point(slower), lambda _: "all").values()
    assert (median(wrong.tpot) or 0) > 0.2
    assert all(error < 0 for error in wrong.rate)


def test_rows_are_read_with_the_units_of_the_estimate_and_without_what_is_not_to_be_fitted(tmp_path: Path) -> None:
    good = {
        "id": "a_1",
        "engine": "vLLM",
        "version": "0.9",
        "model": "m",
        "weight_dtype": "bf16",
        "kv_dtype": "",
        "gpu": "H100 SXM",
        "tp": "2",
        "dp_or_replicas": "1",
        "input_len": "100",
        "output_len": "10",
        "concurrency": "4",
        "output_tok_s": "",
        "ttft_p50_ms": "200",
        "ttft_mean_ms": "",
        "ttft_p99_ms": "",
        "tpot_p50_ms": "",
        "tpot_mean_ms": "10",
        "notes": "",
    }
    rows = [good, {**good, "id": "infx_1"}, {**good, "engine": "SGLang (extra)"}, {**good, "concurrency": ""}]
    file = tmp_path / "rows.csv"
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(good))
        writer.writeheader()
        writer.writerows(rows)
    (row,) = read_rows(file)
    assert (row.tp, row.ttft, row.tpot, row.output_rate) == (2, 0.2, 0.01, None)
    assert row.rate == pytest.approx(4 * 10 / (0.2 + 9 * 0.01))


def test_fine_tunes_have_the_shape_of_their_model(tmp_path: Path) -> None:
    file = tmp_path / "models.csv"
    shape = {
        "model_id": "meta-llama/Llama-3.1-8B-Instruct",
        "arch": "LlamaForCausalLM",
        "num_hidden_layers": "32",
        "num_attention_heads": "32",
        "num_key_value_heads": "8",
        "head_dim": "128",
        "hidden_size": "4096",
        "intermediate_size": "14336",
        "vocab_size": "128256",
        "tie_embeddings": "no",
        "kv_lora_rank": "",
        "qk_rope_head_dim": "",
        "sliding_window": "",
        "attn_layout": "full:32",
        "total_params_b": "8.03",
        "n_experts": "",
        "experts_per_tok": "",
        "max_position_embeddings": "131072",
    }
    with file.open("w", newline="") as out:
        writer = csv.DictWriter(out, list(shape))
        writer.writeheader()
        writer.writerow(shape)
    shapes = Shapes(file)
    found = shapes.facts("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "bf16")
    assert found is not None
    assert found.weights_bytes == pytest.approx(16.06e9, rel=0.005)
    narrow = shapes.facts("nvidia/Llama-3.1-8B-Instruct-FP8", "fp8")
    assert narrow is not None
    assert narrow.weights_bytes == pytest.approx(9.08e9, rel=0.01)
    assert shapes.facts("unknown/model", "bf16") is None
