"""The models refuse what the API server refuses, with the same sentences, and give back what they were given."""

import pytest
from pydantic import ValidationError

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.engines import engine_version
from inference_fleet.catalog.extra_args import findings
from tests.unit.api import examples
from tests.unit.api.examples import Example


@pytest.mark.parametrize("example", examples.ADMITTED, ids=str)
def test_a_good_spec_is_read(example: Example) -> None:
    InferenceServiceSpec.model_validate(example.spec)


@pytest.mark.parametrize("example", examples.REFUSED_BY_RULE + examples.TWICE, ids=str)
def test_a_broken_rule_is_said_once_in_a_sentence(example: Example) -> None:
    with pytest.raises(ValidationError) as refused:
        InferenceServiceSpec.model_validate(example.spec)
    (error,) = refused.value.errors()
    assert example.says in error["msg"]
    assert not error["msg"].startswith("Value error")


@pytest.mark.parametrize("example", examples.REFUSED_BY_SCHEMA, ids=str)
def test_a_value_outside_its_limits_is_refused(example: Example) -> None:
    with pytest.raises(ValidationError) as refused:
        InferenceServiceSpec.model_validate(example.spec)
    (error,) = refused.value.errors()
    assert example.says in f"{error['loc']}: {error['msg']}"


@pytest.mark.parametrize("example", examples.LOCKED_FLAGS, ids=str)
def test_a_locked_flag_is_found_by_the_planner_too(example: Example) -> None:
    spec = example.spec
    arguments = (spec["pools"][0].get("engine") or spec["engine"])["extraArgs"]
    (finding,) = findings(arguments, engine_version("vllm/vllm-openai:v0.32.0"))
    assert example.says in finding.message


@pytest.mark.parametrize("spec", [examples.SMALLEST, examples.LARGEST], ids=["smallest", "largest"])
def test_nothing_is_added_or_dropped(spec: dict[str, object]) -> None:
    read = InferenceServiceSpec.model_validate(spec)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == spec


def test_whole_numbers_of_cores_and_bytes_become_text() -> None:
    spec = Example("engine.resources", {"cpu": 8, "memory": 68719476736}).spec
    engine = InferenceServiceSpec.model_validate(spec).engine
    assert engine and engine.resources
    assert (engine.resources.cpu, engine.resources.memory) == ("8", "68719476736")


def test_left_out_fields_stay_left_out() -> None:
    read = InferenceServiceSpec.model_validate(examples.SMALLEST)
    unset = (read.engine, read.workload, read.warm_pool, read.scaling, read.disruption, read.cache)
    assert unset == (None,) * 6
