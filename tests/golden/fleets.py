"""Golden inputs: an InferenceService, and beside it a ready-made plan, so that a better planner changes no file here.

service:  the InferenceService
model:    {digest, bytes}, null where the store was not read
settings: of the installation
pools:    {<pool>: {serving, warm, lock, engine: <locked values>, standby_pods, pull_image}}
"""

from pathlib import Path
from typing import Any

import yaml

from inference_fleet.api.names import pool_child
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec, Pool
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.planning.plan import LockedEngine
from inference_fleet.planning.planner import merged_engine
from inference_fleet.resources.build import build_all
from inference_fleet.resources.inputs import Fleet, ModelSource, Owner, PoolTarget, RenderSettings
from inference_fleet.resources.text import to_yaml

FOLDER = Path(__file__).parent
INPUTS = sorted((FOLDER / "input").glob("*.yaml"))

_DEFAULT_ENGINE: dict[str, Any] = {
    "image": "vllm/vllm-openai:v0.33.0",
    "tensor_parallel_size": 1,
    "max_model_len": 8192,
    "max_num_seqs": 256,
    "gpu_memory_utilization": 0.92,
    "enable_prefix_caching": True,
    "kv_cache_dtype": "auto",
}


def output_of(path: Path) -> Path:
    """Where the manifests of an input stand."""
    return FOLDER / "output" / path.name


def rendered(path: Path) -> str:
    """The manifests of an input, as YAML."""
    return to_yaml(build_all(load_fleet(path)))


def load_fleet(path: Path) -> Fleet:
    """The fleet that an input describes."""
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    metadata = raw["service"]["metadata"]
    spec = InferenceServiceSpec.model_validate(raw["service"]["spec"])
    return Fleet(
        owner=Owner(name=metadata["name"], namespace=metadata["namespace"], uid=metadata["uid"]),
        spec=spec,
        model=ModelSource(**raw["model"]),
        pools=tuple(_target(metadata["name"], spec, pool, raw["pools"][pool.name]) for pool in spec.pools),
        settings=RenderSettings(**raw["settings"]),
    )


def _target(service: str, spec: InferenceServiceSpec, pool: Pool, raw: dict[str, Any]) -> PoolTarget:
    engine = {**_DEFAULT_ENGINE, **raw.get("engine", {})}
    engine["extra_args"] = tuple(engine.get("extra_args", ()))
    return PoolTarget(
        pool=pool,
        engine=LockedEngine(**engine),
        resources=merged_engine(spec, pool).resources,
        lock=raw["lock"],
        name=pool_child(service, pool.name),
        serving=raw["serving"],
        warm=raw["warm"],
        standby_pods=raw.get("standby_pods", ""),
        gpu_type=GpuCatalog.builtin().find(pool.gpu),
        pull_image=raw.get("pull_image"),
    )
