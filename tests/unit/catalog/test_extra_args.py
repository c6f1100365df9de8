import pytest

from inference_fleet.api.conditions import Reason
from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.extra_args import Finding, findings, flag_value, size_value


def found(*items: str, version: str = "0.33.0") -> list[Finding]:
    return list(findings(items, engine_version(f"vllm:{version}")))


@pytest.mark.parametrize(
    "items",
    [
        (
            "--speculative-config",
            '{"method":"ngram","num_speculative_tokens":3}',
            "--chat-template",
            "/t/tool use.jinja",
        ),
        ("--max-num-batched-tokens", "8192"),
        ("--model-impl", "auto"),
        ("--chat-template=/t/tool use.jinja",),
        ("--hf-overrides", '{"max_model_len": 1}'),
        ("--override", "-1"),
        ("-cc.mode=3",),
    ],
)
def test_other_flags_and_their_values_pass(items: tuple[str, ...]) -> None:
    assert found(*items) == []


@pytest.mark.parametrize(
    ("item", "field"),
    [
        ("--tensor-parallel-size", "tensorParallelSize"),
        ("--tensor_parallel_size=2", "tensorParallelSize"),
        ("--tensor_parallel-size", "tensorParallelSize"),
        ("-tp", "tensorParallelSize"),
        ("-tp=1", "tensorParallelSize"),
        ("-t", "tensorParallelSize"),
        ("--tensor-parallel-size 4", "tensorParallelSize"),
        ("--max_model_len", "engine.maxModelLen"),
        ("--max-num-s=4", "engine.maxNumSeqs"),
        ("--no-enable-prefix-caching", "engine.enablePrefixCaching"),
        ("--no_enable_prefix_cach", "engine.enablePrefixCaching"),
        ("--gpu-memory-util", "engine.gpuMemoryUtilization"),
        ("--kv-cache-dtype.x", "engine.kvCacheDtype"),
        ("--model", "spec.model.uri"),
        ("--served-model-name+", "spec.model.name"),
        ("--host", "Service"),
        ("--port=1", "Service"),
        ("--shutdown-timeout", "spec.drainSeconds"),
    ],
)
def test_a_locked_flag_is_found_in_every_spelling_and_its_field_is_named(item: str, field: str) -> None:
    (problem,) = found(item, "1")
    assert problem.reason is Reason.LOCKED_FLAG
    assert field in problem.message


@pytest.mark.parametrize("item", ["--a b", "x\n", "--x=1\r", "--", "a\0b"])
def test_items_that_are_not_one_argument_are_refused(item: str) -> None:
    (problem,) = found(item)
    assert problem.reason is Reason.INVALID_SPEC
    assert "engine.extraArgs[0]" in problem.message


@pytest.mark.parametrize(
    ("item", "version", "instead"),
    [
        ("--swap-space=4", "0.19.0", "leave it out"),
        ("--disable_log_requests", "0.12.0", "--enable-log-requests"),
        ("--guided-decoding-backend", "0.13.0", "--structured-outputs-config"),
        ("--rope-scaling", "0.11.2", "--hf-overrides"),
        ("--log-config-file", "0.33.0", "--logging-config"),
    ],
)
def test_a_removed_flag_is_refused_with_what_to_use(item: str, version: str, instead: str) -> None:
    (problem,) = found(item, version=version)
    assert problem.reason is Reason.REMOVED_FLAG
    assert not problem.warning
    assert instead in problem.message


def test_a_flag_passes_before_its_removal() -> None:
    assert found("--swap-space=4", version="0.18.0") == []


def test_a_flag_newer_than_the_engine_is_refused() -> None:
    (problem,) = found("--numa-bind", version="0.19.0")
    assert "0.20" in problem.message
    assert found("--numa-bind", version="0.20.0") == []


def test_an_unknown_version_only_warns_of_removed_flags() -> None:
    (problem,) = found("--swap-space", version="latest")
    assert problem.warning


def test_values_are_read_as_the_engine_reads_them() -> None:
    args = ("--max_num_batched_tokens", "2k", "--dtype=half", "--enforce-eager", "--max-num-batched-tokens=4K")
    assert size_value(args, "--max-num-batched-tokens") == 4096
    assert flag_value(args, "--dtype") == "half"
    assert flag_value(args, "--enforce-eager") == ""
    assert flag_value(args, "--absent") is None
