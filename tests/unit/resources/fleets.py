"""Fleets for the builders' tests: a small legal service, changed field by field."""

import dataclasses
from typing import Any

from inference_fleet.api.names import pool_child
from inference_fleet.api.v1alpha1.spec import EngineResources, InferenceServiceSpec
from inference_fleet.planning.plan import LockedEngine
from inference_fleet.resources.build import build_all
from inference_fleet.resources.inputs import Fleet, Manifest, ModelSource, Owner, PoolTarget, RenderSettings

GIB = 2**30


def locked(tensor_parallel_size: int = 1, **changes: Any) -> LockedEngine:
    engine = LockedEngine(
        image="vllm/vllm-openai:v0.33.0",
        tensor_parallel_size=tensor_parallel_size,
        max_model_len=8192,
        max_num_seqs=64,
        gpu_memory_utilization=0.92,
        enable_prefix_caching=True,
        kv_cache_dtype="auto",
    )
    return dataclasses.replace(engine, **changes)


def spec(*, pool: dict[str, Any] | None = None, model: dict[str, Any] | None = None, **fields: Any) -> Any:
    return {
        "model": {"name": "tiny", "uri": "s3://models/tiny", **(model or {})},
        "pools": [{"name": "l4", "gpu": "NVIDIA-L4", "replicas": {"min": 2, "max": 4}, **(pool or {})}],
        **fields,
    }


def fleet(
    raw: dict[str, Any] | None = None,
    *,
    name: str = "chat",
    engine: LockedEngine | None = None,
    resources: dict[str, str] | None = None,
    model_bytes: int | None = 16 * GIB,
    settings: RenderSettings | None = None,
    **target: Any,
) -> Fleet:
    parsed = InferenceServiceSpec.model_validate(raw or spec())
    targets = tuple(
        PoolTarget(
            pool=pool,
            engine=engine or locked(),
            resources=EngineResources.model_validate(resources) if resources else None,
            lock="12e4567890",
            name=pool_child(name, pool.name),
            **{"serving": 2, "warm": 1, **target},
        )
        for pool in parsed.pools
    )
    return Fleet(
        owner=Owner(name=name, namespace="team-a", uid="7d5b7a54-5a0e-4c58-9f6b-0d6f7f6c0001"),
        spec=parsed,
        model=ModelSource(digest="sha256:" + "ab" * 32, bytes=model_bytes),
        pools=targets,
        settings=settings or RenderSettings(operator_image="example.org/inference-fleet:1.0"),
    )


def of_kind(manifests: tuple[Manifest, ...], kind: str) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]


def deployment_of(built: Fleet) -> Manifest:
    return of_kind(build_all(built), "Deployment")[0]


def template_of(built: Fleet) -> Any:
    return deployment_of(built)["spec"]["template"]


def pod_of(built: Fleet) -> Any:
    return template_of(built)["spec"]


def engine_of(built: Fleet) -> Any:
    return pod_of(built)["containers"][0]


def pull_of(built: Fleet) -> Any:
    return pod_of(built)["initContainers"][0]


def environment(container: Any) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container["env"] if "value" in item}
