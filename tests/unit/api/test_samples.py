"""The sample manifests are good, and the full one shows every field there is."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from inference_fleet.api import labels
from inference_fleet.api.v1alpha1.spec import Engine, InferenceServiceSpec, Pool, Predictive, Reclaim, Store

SAMPLES = sorted((Path(__file__).parents[3] / "manifests" / "samples").glob("*.yaml"))


def sample(path: Path) -> dict[str, Any]:
    """The one document in a file."""
    document: dict[str, Any] = yaml.safe_load(path.read_text())
    return document


def fields(value: Any, path: str = "") -> set[str]:
    """The paths of all fields that are set, list indices left out."""
    if isinstance(value, BaseModel):
        given = {name: getattr(value, name) for name in value.model_fields_set}
        return {f"{path}.{name}" for name in given} | {
            deeper for name, child in given.items() for deeper in fields(child, f"{path}.{name}")
        }
    return {deeper for item in value for deeper in fields(item, path)} if isinstance(value, tuple) else set()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_is_read(path: Path) -> None:
    document = sample(path)
    assert (document["apiVersion"], document["kind"]) == (labels.API_VERSION, labels.KIND)
    InferenceServiceSpec.model_validate(document["spec"])


def test_there_is_a_small_one_a_large_one_and_a_full_one() -> None:
    assert [path.stem for path in SAMPLES] == ["chat", "llama-70b", "llama-8b"]


def test_the_full_sample_names_every_field_of_the_service() -> None:
    (chat,) = (path for path in SAMPLES if path.stem == "chat")
    given = fields(InferenceServiceSpec.model_validate(sample(chat)["spec"]))
    assert set(InferenceServiceSpec.model_fields) == {path.split(".")[1] for path in given}
    for prefix, model in (
        (".model.store", Store),
        (".engine", Engine),
        (".pools", Pool),
        (".scaling.predictive", Predictive),
        (".scaling.reclaim", Reclaim),
    ):
        every = {f"{prefix}.{name}" for name in model.model_fields}
        assert every <= given, model
