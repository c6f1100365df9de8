import dataclasses
from typing import Any

import pytest

from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.gpus import GIB, GpuCatalog
from inference_fleet.catalog.models import ModelFacts
from inference_fleet.planning.plan import PoolPlan
from inference_fleet.planning.planner import merged_engine, plan_service
from tests.unit.planning import models
from tests.unit.planning.shapes import H100, IMAGE, config, facts, large, spec

CATALOG = GpuCatalog.builtin()
STORED = 16_060_522_496
A100 = "NVIDIA-A100-SXM4-80GB"


def planned(service: InferenceServiceSpec, model: ModelFacts | None = None, *, image: str = IMAGE) -> PoolPlan:
    (plan,) = plan_service(service, model or facts(weights=STORED), CATALOG, default_image=image)
    return plan


def problem(plan: PoolPlan, reason: Reason) -> str:
    assert not plan.feasible
    assert plan.lock is None
    return next(found.message for found in plan.problems if found.reason is reason and not found.warning)


def test_all_left_out_is_planned() -> None:
    plan = planned(spec())
    assert plan.feasible
    assert plan.problems == ()
    assert plan.engine is not None
    assert (plan.engine.tensor_parallel_size, plan.engine.max_model_len, plan.engine.max_num_seqs) == (1, 131072, 1024)
    assert (plan.engine.gpu_memory_utilization, plan.engine.kv_cache_dtype) == (0.92, "auto")
    assert plan.engine.enable_prefix_caching
    assert plan.lock is not None
    assert plan.lock_inputs is not None


def test_the_bill_adds_up_and_gives_tokens_and_concurrency() -> None:
    plan = planned(spec(engine={"maxModelLen": 8192}))
    bill = plan.memory
    assert bill is not None
    spent = bill.weights_bytes + bill.activation_bytes + bill.overhead_bytes + bill.kv_cache_bytes
    assert spent == bill.usable_bytes
    assert sum(part for _, part in bill.overhead_causes) == bill.overhead_bytes
    assert plan.kv_cache_tokens == bill.kv_cache_bytes // (16 * 131072) * 16
    assert plan.max_concurrency == round(plan.kv_cache_tokens / 8192, 2)


def test_given_values_are_kept() -> None:
    engine = {
        "maxModelLen": 5000,
        "maxNumSeqs": 7,
        "gpuMemoryUtilization": 0.5,
        "enablePrefixCaching": False,
        "kvCacheDtype": "fp8",
        "extraArgs": ["--seed", "1"],
    }
    plan = planned(spec(engine=engine, tensorParallelSize=2))
    assert plan.feasible
    assert plan.engine is not None
    assert dataclasses.asdict(plan.engine) == {
        "image": IMAGE,
        "tensor_parallel_size": 2,
        "max_model_len": 5000,
        "max_num_seqs": 7,
        "gpu_memory_utilization": 0.5,
        "enable_prefix_caching": False,
        "kv_cache_dtype": "fp8",
        "extra_args": ("--seed", "1"),
    }
    assert plan.memory is not None
    assert plan.memory.kv_cache_bytes_per_token == 131072 // 2 // 2


def test_the_smallest_size_that_holds_the_length_is_taken() -> None:
    fp8 = facts(large(quantization_config={"quant_method": "fp8"}), weights=int(67.7 * GIB))
    wide = planned(spec(A100, engine={"maxModelLen": 16384}), fp8)
    assert wide.feasible
    assert wide.engine is not None
    assert wide.engine.tensor_parallel_size == 2
    assert planned(spec("NVIDIA-H200", engine={"maxModelLen": 16384}), fp8).engine is not None


def test_a_length_left_out_is_the_longest_that_fits_where_the_models_own_does_not() -> None:
    plan = planned(spec("NVIDIA-L4"))
    assert plan.feasible
    assert plan.engine is not None
    assert plan.engine.tensor_parallel_size == 1
    length = plan.engine.max_model_len
    assert length is not None
    assert plan.max_concurrency is not None
    assert length % 1024 == 0
    assert length >= 8192
    assert 2 <= plan.max_concurrency < 2.2  # a long request must not stop all others
    length = 31_000
    assert not planned(spec("NVIDIA-L4", engine={"maxModelLen": length + 2048}, tensorParallelSize=1)).feasible


def test_sequences_left_out_follow_the_workload_within_the_engines_default() -> None:
    small = planned(spec("NVIDIA-L4", workload={"inputTokens": 1000, "outputTokens": 250}))
    assert small.engine is not None
    assert small.kv_cache_tokens is not None
    assert small.engine.max_num_seqs is not None
    assert 1 < small.engine.max_num_seqs <= small.kv_cache_tokens // 1250
    short = planned(spec(workload={"inputTokens": 10, "outputTokens": 10}))
    assert short.engine is not None
    assert short.engine.max_num_seqs == 1024


def test_a_batch_in_extra_args_is_counted() -> None:
    plan = planned(spec(engine={"extraArgs": ["--max_num_batched_tokens=32K"]}))
    assert plan.memory is not None
    assert plan.memory.activation_bytes == 32768 * 2 * (3 * 4096 + 3 * 14336)


def test_a_fixed_cache_replaces_what_the_utilization_leaves() -> None:
    plan = planned(spec(engine={"extraArgs": ["--kv-cache-memory-bytes", "5713920000"], "maxModelLen": 8192}))
    assert plan.memory is not None
    assert plan.memory.kv_cache_bytes == 5_713_920_000


def test_older_engines_get_their_own_defaults() -> None:
    plan = planned(spec(), image="vllm:v0.19.0")
    assert plan.engine is not None
    assert plan.engine.gpu_memory_utilization == 0.9
    assert plan.memory is not None
    assert [cause for cause, _ in plan.memory.overhead_causes] == ["CUDA context", "safety margin"]


def test_heads_that_do_not_divide_are_refused_with_the_legal_sizes() -> None:
    model = facts(config(num_attention_heads=28, num_key_value_heads=4, head_dim=128), weights=STORED)
    plan = planned(spec(tensorParallelSize=8), model)
    assert plan.engine is None
    assert "1, 2, 4, 7, 14, 28" in problem(plan, Reason.INVALID_PARALLELISM)


def test_heads_in_a_nested_config_are_checked_too() -> None:
    nested = {"text_config": config(num_attention_heads=28, num_key_value_heads=4, head_dim=128)}
    assert problem(planned(spec(tensorParallelSize=8), facts(nested)), Reason.INVALID_PARALLELISM)


def test_more_gpus_than_a_node_has_are_refused_even_without_a_model() -> None:
    (plan,) = plan_service(spec("NVIDIA-H100-NVL", tensorParallelSize=4), None, CATALOG, default_image=IMAGE)
    assert "2 is the most" in problem(plan, Reason.INVALID_PARALLELISM)


@pytest.mark.parametrize("args", [["-pp", "2"], ["--data-parallel-size=2"]])
def test_parallelism_behind_the_plans_back_is_refused(args: list[str]) -> None:
    assert problem(planned(spec(engine={"extraArgs": args})), Reason.INVALID_PARALLELISM)


def test_weights_that_do_not_fit_name_the_sizes_and_types_that_do() -> None:
    plan = planned(spec(tensorParallelSize=1), facts(large(), weights=141 * 10**9))
    message = problem(plan, Reason.MODEL_TOO_LARGE)
    assert "131.3" in message
    assert "What would work: tensorParallelSize 4" in message or "What would work: tensorParallelSize 2" in message
    assert plan.memory is not None
    assert plan.memory.kv_cache_bytes == 0


def test_a_model_for_no_gpu_says_so() -> None:
    assert "No GPU type" in problem(planned(spec(), facts(large(), weights=10**13)), Reason.MODEL_TOO_LARGE)


def test_a_length_beyond_the_model_is_refused() -> None:
    message = problem(planned(spec(engine={"maxModelLen": 131073})), Reason.CONTEXT_TOO_LONG)
    assert "131072" in message
    overridden = spec(engine={"maxModelLen": 131073, "extraArgs": ["--hf-overrides", "{}"]})
    assert planned(overridden).feasible


def test_a_length_beyond_the_cache_names_the_longest_that_fits() -> None:
    service = spec("NVIDIA-L4", engine={"maxModelLen": 100_000}, tensorParallelSize=1)
    plan = planned(service)
    message = problem(plan, Reason.CONTEXT_TOO_LONG)
    longest = int(message.partition("The longest length that fits is ")[2].partition(".")[0])
    again = spec("NVIDIA-L4", engine={"maxModelLen": longest}, tensorParallelSize=1)
    assert planned(again).feasible
    more = spec("NVIDIA-L4", engine={"maxModelLen": longest + 1}, tensorParallelSize=1)
    assert not planned(more).feasible


def test_a_workload_that_no_request_can_hold_is_refused() -> None:
    service = spec("NVIDIA-L4", workload={"inputTokens": 90_000, "outputTokens": 10_000}, tensorParallelSize=1)
    assert "100000" in problem(planned(service), Reason.KV_CACHE_TOO_SMALL)


@pytest.mark.parametrize(
    ("gpu", "engine", "fits"),
    [
        ("Tesla-T4", {}, False),
        ("Tesla-T4", {"extraArgs": ["--dtype", "half"]}, True),
        (A100, {"kvCacheDtype": "fp8"}, False),
        (A100, {"kvCacheDtype": "fp8_e5m2"}, True),
        ("NVIDIA-L4", {"kvCacheDtype": "fp8"}, True),
    ],
)
def test_types_that_a_gpu_lacks_are_refused(gpu: str, engine: dict[str, Any], fits: bool) -> None:
    small = facts(config(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16), weights=3 * GIB)
    plan = planned(spec(gpu, engine=engine), small)
    assert plan.feasible is fits
    if not fits:
        assert problem(plan, Reason.UNSUPPORTED_DTYPE)


def test_unknown_gpus_and_slices_are_refused() -> None:
    assert H100 in problem(planned(spec("NVIDIA-H100-SXM5-80GB")), Reason.UNKNOWN_GPU)
    assert "slice" in problem(planned(spec("Tesla-T4-SHARED")), Reason.UNKNOWN_GPU)


def test_an_unread_model_keeps_given_values_and_warns() -> None:
    service = spec(engine={"maxModelLen": 4096}, tensorParallelSize=4)
    (plan,) = plan_service(service, None, CATALOG, default_image=IMAGE)
    assert plan.feasible
    assert plan.engine is not None
    assert (plan.engine.tensor_parallel_size, plan.engine.max_model_len, plan.engine.max_num_seqs) == (4, 4096, None)
    assert plan.memory is None
    assert [found.reason for found in plan.problems] == [Reason.MODEL_NOT_CHECKED]


def test_an_unknown_engine_version_warns() -> None:
    plan = planned(spec(engine={"image": "vllm:latest"}))
    assert plan.feasible
    assert [found.reason for found in plan.problems] == [Reason.UNKNOWN_ENGINE_VERSION]


def test_a_roughly_known_architecture_warns_and_is_not_refused_for_its_cache() -> None:
    strange = facts(config(architectures=["NewForCausalLM"], model_type="new"), weights=STORED)
    plan = planned(spec("NVIDIA-L4", engine={"maxModelLen": 131072}, tensorParallelSize=1), strange)
    assert plan.feasible
    assert plan.estimated
    assert {found.reason for found in plan.problems} == {Reason.UNSUPPORTED_ARCHITECTURE, Reason.CONTEXT_TOO_LONG}


def test_locked_and_removed_flags_make_a_pool_infeasible() -> None:
    plan = planned(spec(engine={"extraArgs": ["-tp=1", "--swap-space=4"]}))
    assert problem(plan, Reason.LOCKED_FLAG)
    assert problem(plan, Reason.REMOVED_FLAG)


def test_more_sequences_than_a_batch_holds_are_refused() -> None:
    service = spec("NVIDIA-L4", engine={"maxNumSeqs": 4096})
    assert "--max-num-batched-tokens 4096" in problem(planned(service), Reason.INVALID_SPEC)


def test_the_lock_follows_what_is_locked_and_the_model_only() -> None:
    service, model = spec(), facts(weights=STORED)
    (one,) = plan_service(service, model, CATALOG, default_image=IMAGE, model_digest="a")
    (same,) = plan_service(service, model, CATALOG, default_image=IMAGE, model_digest="a")
    (other_model,) = plan_service(service, model, CATALOG, default_image=IMAGE, model_digest="b")
    (other_image,) = plan_service(service, model, CATALOG, default_image="vllm:v0.32.0", model_digest="a")
    assert one == same
    assert len({one.lock, other_model.lock, other_image.lock}) == 3
    assert len({one.lock_inputs, other_model.lock_inputs, other_image.lock_inputs}) == 3


def test_a_pools_engine_stands_over_the_services_field_by_field() -> None:
    service = InferenceServiceSpec.model_validate(
        {
            "model": {"name": "m", "uri": "s3://models/m"},
            "engine": {
                "maxModelLen": 1000,
                "maxNumSeqs": 4,
                "extraArgs": ["--a"],
                "resources": {"cpu": "4", "memory": "8Gi"},
            },
            "pools": [
                {
                    "name": "a",
                    "gpu": H100,
                    "replicas": {"min": 1, "max": 1},
                    "engine": {"maxNumSeqs": 8, "extraArgs": ["--b"], "resources": {"memory": "16Gi"}},
                }
            ],
        }
    )
    merged = merged_engine(service, service.pools[0])
    assert (merged.max_model_len, merged.max_num_seqs, merged.extra_args) == (1000, 8, ("--b",))
    assert merged.resources is not None
    assert (merged.resources.cpu, merged.resources.memory) == ("4", "16Gi")


def test_a_wide_replica_over_pcie_works_and_is_warned_of() -> None:
    plan = planned(spec("NVIDIA-L40S", tensorParallelSize=2))
    assert plan.feasible
    (warned,) = plan.problems
    assert warned.warning
    assert "over PCIe" in warned.message
    assert planned(spec("NVIDIA-H200", tensorParallelSize=2)).problems == ()


def test_more_sequences_than_states_are_refused_with_the_most() -> None:
    hybrid = facts(models.gated_delta_net(), weights=28 * 10**9)
    given = {"maxModelLen": 32768, "maxNumSeqs": 2048, "extraArgs": ["--max-num-batched-tokens", "2048"]}
    message = problem(planned(spec(engine=given), hybrid), Reason.KV_CACHE_TOO_SMALL)
    most = int(message.rpartition("; ")[2].split()[0])
    assert planned(spec(engine={**given, "maxNumSeqs": most}), hybrid).feasible
    left_out = planned(spec(engine={"maxModelLen": 32768}), hybrid)
    assert left_out.engine is not None
    assert left_out.engine.max_num_seqs is not None
    assert 256 < left_out.engine.max_num_seqs < 1024


def test_sequences_left_out_give_way_when_their_logits_leave_no_cache() -> None:
    sparse = facts(models.alternating(36))
    plan = planned(spec(engine={"image": "vllm:v0.11.0"}, tensorParallelSize=1), sparse)
    assert plan.feasible
    assert plan.engine is not None
    assert plan.engine.max_num_seqs is not None
    assert plan.engine.max_num_seqs < 1024
    given = spec(engine={"image": "vllm:v0.11.0", "maxNumSeqs": 1024, "maxModelLen": 131072}, tensorParallelSize=1)
    assert not planned(given, sparse).feasible


@pytest.mark.parametrize(("gpu", "runs"), [("Tesla-T4", False), ("NVIDIA-A10G", True), ("NVIDIA-L4", True)])
def test_a_checkpoint_needs_a_gpu_with_a_kernel_for_it(gpu: str, runs: bool) -> None:
    small = facts(models.alternating())
    plan = planned(spec(gpu, engine={"extraArgs": ["--dtype", "half"]}), small)
    if runs:
        assert Reason.UNSUPPORTED_DTYPE not in {found.reason for found in plan.problems}
    else:
        assert "8.0 is the least" in problem(plan, Reason.UNSUPPORTED_DTYPE)


def test_a_checkpoint_with_scales_gets_an_fp8_cache_where_the_version_reads_them() -> None:
    scaled = {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}
    model = facts(config(quantization_config=scaled), weights=6 * GIB)
    new, old = planned(spec(), model), planned(spec(engine={"image": "vllm:v0.11.0"}), model)
    assert new.memory is not None
    assert old.memory is not None
    assert (new.memory.kv_cache_bytes_per_token, old.memory.kv_cache_bytes_per_token) == (65536, 131072)


def test_speculation_takes_memory_and_states() -> None:
    args = ["--speculative-config", '{"method":"mtp","num_speculative_tokens":3}']
    model = facts(models.gated_delta_net(), weights=55 * 10**9)
    plain, drafting = (
        planned(spec("NVIDIA-H200"), model),
        planned(spec("NVIDIA-H200", engine={"extraArgs": args}), model),
    )
    assert plain.memory is not None
    assert drafting.memory is not None
    assert drafting.memory.weights_bytes - plain.memory.weights_bytes == model.draft_bytes
    assert plain.kv_cache_tokens is not None
    assert drafting.kv_cache_tokens is not None
    assert drafting.kv_cache_tokens < plain.kv_cache_tokens


def test_a_latent_model_is_planned_over_a_node_with_its_expert_split() -> None:
    model = facts(models.latent(), weights=688_586_727_753)
    plan = planned(spec("NVIDIA-H200"), model)
    assert plan.feasible
    assert not plan.estimated
    assert plan.engine is not None
    assert plan.engine.tensor_parallel_size == 8
