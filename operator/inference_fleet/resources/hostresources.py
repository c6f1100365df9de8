"""CPU, memory, GPUs and shared memory of the engine container."""

from typing import Any

from inference_fleet.api.v1alpha1.spec import EngineResources
from inference_fleet.resources.quantity import GIB, canonical_cpu, from_bytes, to_bytes

_BASE_CORES = 2
_REQUEST_BASE = 4 * GIB
_REQUEST_PER_GPU = 6 * GIB
_LIMIT_BASE = 16 * GIB
_LIMIT_PER_GPU = 24 * GIB
_SHM_PER_GPU = GIB


def shm_bytes(tensor_parallel_size: int) -> int:
    """Size of /dev/shm: 1 GiB per GPU.

    With more than one GPU vLLM maps a broadcast ring of 160 MiB and a response ring of 240 MiB per worker, refuses to
    start where they do not fit (Kubernetes' own /dev/shm has 64 MiB), and NCCL takes segments beside them. 1 GiB per
    GPU is at least twice that. It costs memory only as far as it is used.
    """
    return tensor_parallel_size * _SHM_PER_GPU


def engine_resources(
    tensor_parallel_size: int, given: EngineResources | None, gpu_resource: str
) -> dict[str, dict[str, str]]:
    """Requests and limits of the engine container, /dev/shm counted in both, for its pages are charged to it.

    CPU, if not given: 2 + TP cores requested (API server, engine core that spins, one process per GPU). Never a
    limit: throttling the engine core starves the GPUs.

    Memory, if given: request and limit. If not: the request covers what the processes hold (4 GiB and 6 GiB per GPU,
    which still fits the 16 GiB nodes sold with one small GPU); the limit (16 GiB and 24 GiB per GPU) leaves room
    for the page cache of mapped weight files, which is charged to the pod too but is given back under pressure.
    """
    tp, shm = tensor_parallel_size, shm_bytes(tensor_parallel_size)
    if given is not None and given.memory is not None:
        request = limit = to_bytes(given.memory)
    else:
        request, limit = _REQUEST_BASE + tp * _REQUEST_PER_GPU, _LIMIT_BASE + tp * _LIMIT_PER_GPU
    cpu = canonical_cpu(given.cpu) if given is not None and given.cpu is not None else str(_BASE_CORES + tp)
    return {
        "requests": {"cpu": cpu, "memory": from_bytes(request + shm), gpu_resource: str(tp)},
        "limits": {"memory": from_bytes(limit + shm), gpu_resource: str(tp)},
    }


def shm_volume(tensor_parallel_size: int) -> dict[str, Any]:
    """The memory-backed volume for /dev/shm; a pod that writes more than its size is evicted."""
    return {
        "name": "dshm",
        "emptyDir": {"medium": "Memory", "sizeLimit": from_bytes(shm_bytes(tensor_parallel_size))},
    }
