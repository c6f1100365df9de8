from dataclasses import replace

from inference_fleet.planning.arguments import engine_arguments
from inference_fleet.planning.plan import LockedEngine
from tests.unit.planning.shapes import IMAGE

ENGINE = LockedEngine(
    image=IMAGE,
    tensor_parallel_size=2,
    max_model_len=16384,
    max_num_seqs=128,
    gpu_memory_utilization=0.92,
    enable_prefix_caching=True,
    kv_cache_dtype="auto",
    extra_args=("--speculative-config", '{"method":"ngram"}', "--chat-template", "/t/tool use.jinja"),
)


def rendered(engine: LockedEngine, shutdown_timeout: int | None = 288) -> tuple[str, ...]:
    return engine_arguments(
        engine, model_path="/models/m", served_name="m", port=8000, shutdown_timeout=shutdown_timeout
    )


def test_the_order_is_fixed_and_extra_args_come_last_byte_for_byte() -> None:
    assert " ".join(rendered(ENGINE)[:-4]) == (
        "/models/m --served-model-name m --port 8000 --tensor-parallel-size 2 --max-model-len 16384 "
        "--max-num-seqs 128 --gpu-memory-utilization 0.92 --kv-cache-dtype auto --shutdown-timeout 288 "
        "--enable-prefix-caching"
    )
    assert rendered(ENGINE)[-4:] == ENGINE.extra_args


def test_what_was_not_planned_is_left_to_the_engine() -> None:
    arguments = rendered(replace(ENGINE, max_model_len=None, max_num_seqs=None), shutdown_timeout=None)
    assert not {"--max-model-len", "--max-num-seqs", "--shutdown-timeout", "None"} & set(arguments)


def test_a_flag_that_an_older_engine_lacks_is_left_out() -> None:
    assert "--shutdown-timeout" not in rendered(replace(ENGINE, image="vllm:v0.18.0"))
    assert "--shutdown-timeout" in rendered(replace(ENGINE, image="vllm:latest"))


def test_numbers_have_no_noise() -> None:
    assert "0.3" in rendered(replace(ENGINE, gpu_memory_utilization=0.1 + 0.2))


def test_switched_off_prefix_caching_is_said() -> None:
    assert "--no-enable-prefix-caching" in rendered(replace(ENGINE, enable_prefix_caching=False))
