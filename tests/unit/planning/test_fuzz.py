"""Whatever a `config.json` holds: a plan, or one sentence that names the field. Never a crash, never a silent guess."""

import copy
import itertools
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelConfigError, model_facts
from inference_fleet.planning.planner import plan_service
from tests.unit.planning import models
from tests.unit.planning.shapes import H100, IMAGE, config, spec

SEEDS = {
    "dense": config(sliding_window=4096, rope_scaling={"rope_type": "yarn", "factor": 4.0}),
    "hybrid": models.gated_delta_net(),
    "mixers": models.mamba_experts(),
    "geometries": models.two_geometries(),
    "alternating": models.alternating(),
    "latent": models.latent(),
    "sparse": models.sparse_latent(index_topk_freq=4, compress_ratios=None),
    "delta": models.kimi_delta(),
}
ODD: tuple[Any, ...] = (
    None,
    -1,
    0,
    1,
    3,
    10**9,
    10**30,
    1.5,
    1e308,
    float("inf"),
    float("nan"),
    "",
    "x",
    "32",
    True,
    False,
    [],
    [None],
    ["full_attention", 7, None, {"a": 1}],
    [0, 4, 128, -3, "y"],
    {},
    {"num_heads": "many", "kda_layers": ["x"], "rope_type": "linear", "factor": "big", "config_groups": {"a": 3}},
)


def mutations(shape: dict[str, Any], seed: int) -> Iterator[dict[str, Any]]:
    """Every field once with an odd value, then several at once, then fields at the wrong level."""
    rng = random.Random(seed)  # noqa: S311 (repeatable, nothing secret)
    paths: list[tuple[str, ...]] = [(name,) for name in shape]
    paths += [(outer, inner) for outer in shape if isinstance(shape[outer], dict) for inner in shape[outer]]
    for path, value in itertools.product(paths, rng.sample(ODD, 7)):
        changed = copy.deepcopy(shape)
        holder = changed[path[0]] if len(path) == 2 else changed
        holder[path[-1]] = value
        yield changed
    for _ in range(100):
        changed = copy.deepcopy(shape)
        for path in rng.sample(paths, min(4, len(paths))):
            holder = changed[path[0]] if len(path) == 2 else changed
            if isinstance(holder, dict):
                holder[path[-1]] = rng.choice(ODD)
        yield changed
        yield {"text_config": changed, "vision_config": rng.choice(ODD), "quantization_config": rng.choice(ODD)}


@pytest.mark.parametrize("name", SEEDS)
def test_odd_configurations_are_planned_or_named(name: str) -> None:
    catalog, service = GpuCatalog.builtin(), spec(H100)
    for changed in mutations(SEEDS[name], seed=len(name)):
        try:
            facts = model_facts(changed, {"metadata": {"total_size": 10**10}}, {})
        except ModelConfigError as error:
            assert str(error).startswith("config.json: ")
            assert len(str(error)) < 300
            continue
        (plan,) = plan_service(service, facts, catalog, default_image=IMAGE)
        assert plan.feasible or plan.problems, json.dumps(changed, default=str)[:500]
        if plan.memory is not None:
            assert plan.memory.kv_cache_bytes >= 0
            assert plan.memory.weights_bytes >= 0


@pytest.mark.parametrize("index", [{}, {"metadata": 3}, {"metadata": {"total_size": "x"}}, {"weight_map": [1]}])
def test_odd_indexes_leave_the_estimate(index: dict[str, Any]) -> None:
    facts = model_facts(config(), index, {})
    assert facts.weights_estimated
    assert facts.estimated


def test_text_parts_that_nest_for_ever_end() -> None:
    nested: dict[str, Any] = config()
    for _ in range(200):
        nested = {"text_config": nested}
    with pytest.raises(ModelConfigError, match="hidden_size is missing"):
        model_facts(nested, None, {})
