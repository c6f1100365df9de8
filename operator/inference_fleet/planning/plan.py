"""The plan of a pool: what the planner decides, as frozen values.

All byte figures are per GPU; tokens and concurrency are per replica.
"""

from dataclasses import dataclass

from inference_fleet.api.conditions import Reason


@dataclass(frozen=True, slots=True)
class LockedEngine:
    """The engine parameters that a pool runs with. `None`: not planned, left to the engine."""

    image: str
    tensor_parallel_size: int
    max_model_len: int | None
    max_num_seqs: int | None
    gpu_memory_utilization: float
    enable_prefix_caching: bool
    kv_cache_dtype: str
    extra_args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryBill:
    """Where the memory of one GPU goes, in bytes. The KV cache gets what the others leave of the usable share."""

    gpu_bytes: int
    weights_bytes: int
    activation_bytes: int
    overhead_bytes: int
    kv_cache_bytes: int
    kv_cache_bytes_per_token: int
    usable_bytes: int = 0
    """GPU memory times gpuMemoryUtilization."""
    overhead_causes: tuple[tuple[str, int], ...] = ()
    """`overhead_bytes` by cause."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding of a check: the reason and message of a condition. A warning does not stop the rollout."""

    reason: Reason
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """The plan of one pool. `engine` is None where no legal setting exists."""

    name: str
    gpu: str
    engine: LockedEngine | None
    memory: MemoryBill | None = None
    kv_cache_tokens: int | None = None
    max_concurrency: float | None = None
    lock: str | None = None
    lock_inputs: str | None = None
    problems: tuple[Problem, ...] = ()
    estimated: bool = False
    """Whether the bill rests on a guess: an unknown architecture or field, weights that were not read."""

    @property
    def feasible(self) -> bool:
        """Whether GPU pods may be started for this plan."""
        return self.engine is not None and all(problem.warning for problem in self.problems)
