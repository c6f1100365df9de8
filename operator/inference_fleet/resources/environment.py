"""Environment variables, and the scratch volume that they point to."""

from typing import Any

SCRATCH_PATH = "/tmp"  # noqa: S108
"""The one writable path of every container; the images' own file systems are read-only."""

_SCRATCH_SIZE = "16Gi"
_VOLUME = "scratch"


def variable(name: str, value: str) -> dict[str, Any]:
    """One environment variable with a literal value."""
    return {"name": name, "value": value}


def scratch_volume() -> dict[str, Any]:
    """Compile caches, sockets and temporary files; a pod that writes more than 16 GiB is evicted."""
    return {"name": _VOLUME, "emptyDir": {"sizeLimit": _SCRATCH_SIZE}}


def scratch_mount() -> dict[str, Any]:
    """The mount of the scratch volume."""
    return {"name": _VOLUME, "mountPath": SCRATCH_PATH}


def engine_environment() -> list[dict[str, Any]]:
    """The engine's variables, always the same and in this order.

    vLLM writes sockets and compile caches to the temporary directory, model information below HOME; the caches are
    named one by one because an image may point them elsewhere. USER: the pod's user stands in no passwd file, and
    Python's `getuser` fails without it. VLLM_HOST_IP: with several network cards vLLM's own guess may be an address
    that its workers cannot reach, and they wait without a word.
    """
    literals = {
        "HOME": f"{SCRATCH_PATH}/home",
        "USER": "vllm",
        "XDG_CACHE_HOME": f"{SCRATCH_PATH}/cache",
        "HF_HOME": f"{SCRATCH_PATH}/huggingface",
        "HF_HUB_OFFLINE": "1",
        "VLLM_CACHE_ROOT": f"{SCRATCH_PATH}/vllm",
        "VLLM_CONFIG_ROOT": f"{SCRATCH_PATH}/vllm-config",
        "TRITON_CACHE_DIR": f"{SCRATCH_PATH}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{SCRATCH_PATH}/inductor",
        "FLASHINFER_WORKSPACE_BASE": f"{SCRATCH_PATH}/flashinfer",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }
    pod_ip = {"name": "VLLM_HOST_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    return [*(variable(name, value) for name, value in literals.items()), pod_ip]
