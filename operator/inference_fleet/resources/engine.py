"""The engine container: vLLM with the locked arguments."""

from typing import Any

from inference_fleet.planning.arguments import engine_arguments
from inference_fleet.resources.drain import Drain
from inference_fleet.resources.environment import engine_environment, scratch_mount
from inference_fleet.resources.hostresources import engine_resources
from inference_fleet.resources.inputs import Fleet, PoolTarget
from inference_fleet.resources.modelvolume import MODEL_PATH, ModelVolume
from inference_fleet.resources.probes import HTTP_PORT_NAME, engine_probes
from inference_fleet.resources.security import container_security_context

ENGINE_CONTAINER = "engine"
ENGINE_PORT = 8000


def engine_container(fleet: Fleet, target: PoolTarget, drain: Drain, model: ModelVolume) -> dict[str, Any]:
    """The container that serves: `vllm serve` on the mounted model."""
    arguments = engine_arguments(
        target.engine,
        model_path=MODEL_PATH,
        served_name=fleet.spec.model.name,
        port=ENGINE_PORT,
        shutdown_timeout=drain.shutdown_timeout,
    )
    return {
        "name": ENGINE_CONTAINER,
        "image": target.engine.image,
        "command": ["vllm", "serve"],
        "args": [_literal(argument) for argument in arguments],
        "env": engine_environment(),
        "ports": [{"name": HTTP_PORT_NAME, "containerPort": ENGINE_PORT, "protocol": "TCP"}],
        "volumeMounts": [model.engine_mount, scratch_mount(), {"name": "dshm", "mountPath": "/dev/shm"}],  # noqa: S108
        "resources": engine_resources(target.engine.tensor_parallel_size, target.resources, target.gpu_resource),
        **engine_probes(fleet.model.bytes),
        "lifecycle": {"preStop": {"sleep": {"seconds": drain.pre_stop}}},
        "securityContext": container_security_context(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _literal(argument: str) -> str:
    """`argument` byte for byte: the kubelet expands `$(NAME)` in arguments, and takes `$$` for one `$`."""
    return argument.replace("$", "$$")
