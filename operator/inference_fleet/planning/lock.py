"""The lock: a hash over everything that makes a running engine what it is, and over what it was planned from.

While the inputs of a pool are those in its status, the values in its status are kept: a new operator release may plan
better, but it never re-plans a running fleet.
"""

import dataclasses
import hashlib
import json
from typing import Any

from inference_fleet.api.v1alpha1.base import ApiModel
from inference_fleet.api.v1alpha1.spec import Engine, InferenceServiceSpec, Pool
from inference_fleet.api.v1alpha1.status import PoolStatus
from inference_fleet.planning.plan import LockedEngine, PoolPlan

LOCK_LENGTH = 10


def _digest(value: Any) -> str:
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:LOCK_LENGTH]


def lock_of(engine: LockedEngine, model_digest: str | None) -> str:
    """The hash of the locked values and the model's bytes; stands in status, pod template and metrics."""
    return _digest({"engine": dataclasses.asdict(engine), "model": model_digest})


def lock_inputs(spec: InferenceServiceSpec, pool: Pool, engine: Engine, image: str, model_digest: str | None) -> str:
    """The hash of what a pool's plan is made from. `engine` is the pool's over the service's, `image` resolved.

    What is left out does not count: a field that a later release adds must not make every fleet plan anew.
    """
    return _digest(
        {
            "model": [_given(spec.model), model_digest],
            "engine": {name: value for name, value in _given(engine).items() if name != "resources"},
            "image": image,
            "gpu": pool.gpu,
            "tensorParallelSize": pool.tensor_parallel_size,
            "workload": spec.workload and _given(spec.workload),
        }
    )


def _given(model: ApiModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def frozen_plan(status: PoolStatus, extra_args: tuple[str, ...], inputs: str) -> PoolPlan | None:
    """The plan that stands in a pool's status, if it was made from these inputs."""
    locked = status.engine
    if status.lock is None or locked is None or status.lock_inputs != inputs:
        return None
    if locked.image is None or locked.tensor_parallel_size is None or locked.gpu_memory_utilization is None:
        return None
    engine = LockedEngine(
        image=locked.image,
        tensor_parallel_size=locked.tensor_parallel_size,
        max_model_len=locked.max_model_len,
        max_num_seqs=locked.max_num_seqs,
        gpu_memory_utilization=locked.gpu_memory_utilization,
        enable_prefix_caching=bool(locked.enable_prefix_caching),
        kv_cache_dtype=locked.kv_cache_dtype or "auto",
        extra_args=extra_args,
    )
    return PoolPlan(
        name=status.name,
        gpu=status.gpu,
        engine=engine,
        kv_cache_tokens=status.kv_cache_tokens,
        max_concurrency=status.max_concurrency,
        lock=status.lock,
        lock_inputs=inputs,
    )
