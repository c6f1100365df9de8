"""The accuracy table on tables of our own: what is exact, found with an unsaid setting, or a wrong verdict."""

import csv
from pathlib import Path

import pytest

from e2e.bench.planner import judge, main
from e2e.bench.plannerrows import find_model, read_logs

_LOG = (
    "id,source,vllm_version,model,gpu,gpu_mem_gib,gpu_count,tp,pp,weight_dtype,kv_dtype,gpu_memory_utilization,"
    "max_model_len,max_num_seqs,model_load_gib_per_gpu,available_kv_gib_per_gpu,kv_tokens,max_concurrency,outcome,notes"
)
_MODEL = (
    "model_id,arch,num_hidden_layers,num_attention_heads,num_key_value_heads,head_dim,hidden_size,intermediate_size,"
    "vocab_size,tie_embeddings,kv_lora_rank,qk_rope_head_dim,sliding_window,attn_layout,total_params_b,active_params_b,"
    "n_experts,experts_per_tok,max_position_embeddings,checkpoint_gib,checkpoint_dtype,vllm_load_gib_tp1,"
    "kv_bytes_per_token_bf16_tp1,source"
)
LOG, MODEL = _LOG.split(","), _MODEL.split(",")
DENSE = {
    "model_id": "acme/Foo-2.1-8B-Instruct",
    "arch": "LlamaForCausalLM",
    "num_hidden_layers": "32",
    "num_attention_heads": "32",
    "num_key_value_heads": "8",
    "head_dim": "128",
    "hidden_size": "4096",
    "intermediate_size": "14336",
    "vocab_size": "128256",
    "tie_embeddings": "no",
    "attn_layout": "full:32",
    "total_params_b": "8.03",
    "max_position_embeddings": "131072",
    "checkpoint_gib": "14.96",
    "checkpoint_dtype": "bf16",
}
ROW = {
    "vllm_version": "0.11.2",
    "model": "someone/Bar-Foo-2.1-8B",
    "gpu": "RTX 3090",
    "tp": "1",
    "pp": "1",
    "weight_dtype": "bf16",
    "kv_dtype": "auto",
    "gpu_memory_utilization": "0.85",
    "max_model_len": "16384",
    "available_kv_gib_per_gpu": "3.78",
    "kv_tokens": "30960",
    "max_concurrency": "1.89",
    "outcome": "ok",
}


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rows = [
        {"id": "exact", **ROW},
        {"id": "fp8", **ROW, "kv_dtype": "", "kv_tokens": "61920", "max_concurrency": "3.78"},
        {
            "id": "refused",
            **ROW,
            "max_model_len": "131072",
            "kv_tokens": "",
            "max_concurrency": "",
            "outcome": "refused",
        },
        {"id": "wrong", **ROW, "kv_tokens": "", "max_concurrency": "", "outcome": "refused"},
        {"id": "unknown", **ROW, "model": "Quux-70B"},
    ]
    for name, fields, content in (
        ("logs.csv", LOG, rows),
        ("models.csv", MODEL, [DENSE]),
        (
            "gpus.csv",
            ["name", "gfd_product_label"],
            [{"name": "RTX 3090", "gfd_product_label": "NVIDIA-GeForce-RTX-3090"}],
        ),
    ):
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fields, restval="")
            writer.writeheader()
            writer.writerows(content)
    return tmp_path


def test_each_log_is_judged(tables: Path) -> None:
    logs = read_logs(tables / "logs.csv", tables / "models.csv", tables / "gpus.csv")
    results = {result.log.id: result for result in map(judge, logs)}
    exact = results["exact"]
    assert exact.tokens_error == pytest.approx(0, abs=0.001)
    assert (exact.unsaid, exact.verdict_right) == ("", True)
    assert exact.memory_error == pytest.approx(0, abs=0.1)
    assert results["fp8"].unsaid == "KV dtype fp8"
    assert results["refused"].verdict_right is True
    assert results["wrong"].verdict_right is False
    assert results["wrong"].excess > 0
    assert results["unknown"].predicted is None


def test_the_table_counts_by_kind(tables: Path) -> None:
    lines: list[str] = []
    assert main([str(tables / "logs.csv"), "--rows"], echo=lines.append) == 0
    table = lines[1].splitlines()
    full = next(line.split() for line in table if line.startswith("full "))
    assert full[1:4] == ["4", "1/2", "2/2"]
    assert full[-1] == "3/4"
    assert "refused log found to fit" in lines[2]


def test_a_model_is_found_by_the_words_of_its_name() -> None:
    shapes = [{"model_id": name} for name in ("a/Foo-2.1-8B", "a/Foo-2.1-70B (= Foo-2.2-70B)", "a/Baz-30B-A3B")]
    assert find_model("x/Meta-Foo-2.1-70B-Instruct-AWQ", shapes) == shapes[1]
    assert find_model("Foo-2.2-70B", shapes) == shapes[1]
    assert find_model("Foo-2.4-8B", shapes) == shapes[0]
    assert find_model("Baz-Coder-30B-A3B-FP8", shapes) == shapes[2]
    assert find_model("Baz-30B", shapes) is None
