"""The engine's command line: locked values as flags in a fixed order, so that equal locks give equal pods."""

from inference_fleet.catalog.engines import engine_version
from inference_fleet.planning.plan import LockedEngine


def engine_arguments(
    engine: LockedEngine, *, model_path: str, served_name: str, port: int, shutdown_timeout: int | None
) -> tuple[str, ...]:
    """Arguments of `vllm serve`: the model, the flags this version knows, then extraArgs byte for byte.

    A value that was not planned is left to the engine. `shutdown_timeout` is seconds. The order and the spelling of
    numbers are part of the pod template: a change rolls every fleet.
    """
    values: list[tuple[str, str | None]] = [
        ("--served-model-name", served_name),
        ("--port", str(port)),
        ("--tensor-parallel-size", str(engine.tensor_parallel_size)),
        ("--max-model-len", _number(engine.max_model_len)),
        ("--max-num-seqs", _number(engine.max_num_seqs)),
        ("--gpu-memory-utilization", f"{engine.gpu_memory_utilization:.6g}"),
        ("--kv-cache-dtype", engine.kv_cache_dtype),
    ]
    if engine_version(engine.image).accepts("--shutdown-timeout"):
        values.append(("--shutdown-timeout", _number(shutdown_timeout)))
    flags = [word for flag, value in values if value is not None for word in (flag, value)]
    prefix_caching = "--enable-prefix-caching" if engine.enable_prefix_caching else "--no-enable-prefix-caching"
    return (model_path, *flags, prefix_caching, *engine.extra_args)


def _number(value: int | None) -> str | None:
    return None if value is None else str(value)
