"""All children together: names, owners, hashes, and the stability that GitOps and the drift check rest on."""

import dataclasses
import json
import re
from typing import Any

import pytest

from inference_fleet.api import labels
from inference_fleet.resources.build import build_all
from inference_fleet.resources.inputs import Manifest
from tests.unit.resources.fleets import fleet, spec

ODD_NAMES = [
    "chat",
    "7b-chat",
    "qwen2.5-0.5b",
    "a" * 63,
    "a" * 55 + "-b",
    "a" * 55 + "-c",
    "x." * 100 + "model",
]
LABEL_VALUE = re.compile(r"(?=.{0,63}$)([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?")
DNS_LABEL = re.compile(r"(?=.{1,63}$)[a-z]([-a-z0-9]*[a-z0-9])?")


def two_pools() -> Any:
    raw = spec(model={"name": "Meta-Llama/Llama-3.2_3B.Instruct"})
    raw["pools"].append({"name": "h100-80gb-sxm", "gpu": "NVIDIA-H100", "replicas": {"min": 0, "max": 1}})
    return raw


def walk(value: Any) -> list[Any]:
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(found for child in children for found in walk(child))]


def label_maps(manifest: Manifest) -> list[dict[str, str]]:
    found = [value for value in walk(manifest) if isinstance(value, dict)]
    keys = ("labels", "matchLabels", "selector")
    maps = [value[key] for value in found for key in keys if isinstance(value.get(key), dict)]
    return [value for value in maps if "matchLabels" not in value]


def test_services_then_budgets_then_deployments() -> None:
    kinds = [manifest["kind"] for manifest in build_all(fleet(two_pools()))]
    assert kinds == ["Service"] * 2 + ["PodDisruptionBudget"] * 2 + ["Deployment"] * 2


@pytest.mark.parametrize("name", ODD_NAMES)
def test_every_name_and_label_is_legal_however_odd_the_service_is_called(name: str) -> None:
    for manifest in build_all(fleet(two_pools(), name=name)):
        assert DNS_LABEL.fullmatch(manifest["metadata"]["name"]), manifest["metadata"]["name"]
        for label_map in label_maps(manifest):
            for key, value in label_map.items():
                assert LABEL_VALUE.fullmatch(value), (key, value)


def test_no_two_services_share_a_child_or_a_pod() -> None:
    built = [build_all(fleet(two_pools(), name=name)) for name in ODD_NAMES]
    children = [(child["kind"], child["metadata"]["name"]) for manifests in built for child in manifests]
    assert len(set(children)) == len(children)
    selectors = [json.dumps(m["spec"]["selector"]) for manifests in built for m in manifests if m["kind"] != "Service"]
    assert len(set(selectors)) == len(selectors)


def test_every_child_belongs_to_its_service() -> None:
    for manifest in build_all(fleet()):
        metadata = manifest["metadata"]
        assert metadata["namespace"] == "team-a"
        assert labels.service_labels("chat").items() <= metadata["labels"].items()
        (owner,) = metadata["ownerReferences"]
        assert owner == {
            "apiVersion": "inferencefleet.io/v1alpha1",
            "kind": "InferenceService",
            "name": "chat",
            "uid": "7d5b7a54-5a0e-4c58-9f6b-0d6f7f6c0001",
            "controller": True,
            "blockOwnerDeletion": True,
        }


def test_the_applied_hash_follows_every_change_and_nothing_else() -> None:
    def hashes(**options: Any) -> list[str]:
        return [child["metadata"]["annotations"][labels.APPLIED_HASH] for child in build_all(fleet(**options))]

    assert hashes() == hashes()
    before, after = hashes(serving=2), hashes(serving=3)
    assert before[:2] == after[:2]
    assert before[2] != after[2]
    assert before[3] != after[3]


def test_without_a_cluster_children_have_no_owner_and_no_hash() -> None:
    built = fleet()
    built = dataclasses.replace(built, owner=dataclasses.replace(built.owner, uid=None))
    for manifest in build_all(built):
        assert "ownerReferences" not in manifest["metadata"]
        assert labels.APPLIED_HASH not in manifest["metadata"].get("annotations", {})


def test_manifests_say_the_same_once_the_api_server_has_stored_them() -> None:
    """It drops empty maps, empty lists and empty strings, and takes nothing but JSON."""
    for manifest in build_all(fleet(two_pools())):
        assert json.loads(json.dumps(manifest)) == manifest
        assert not [value for value in walk(manifest) if value is None or value in ({}, [], "")]


def test_labels_and_variables_are_strings_even_where_they_look_like_something_else() -> None:
    for manifest in build_all(fleet(spec(pool={"name": "y", "nodeSelector": {"zone": "on"}}))):
        for label_map in label_maps(manifest):
            assert all(isinstance(value, str) for value in label_map.values())
        variables = [v for v in walk(manifest) if isinstance(v, dict) and set(v) == {"name", "value"}]
        assert all(isinstance(variable["value"], str) for variable in variables)


def test_equal_fleets_give_equal_bytes_however_the_spec_was_ordered() -> None:
    one = spec(pool={"nodeSelector": {"a": "1", "b": "2"}})
    other = dict(reversed(spec(pool={"nodeSelector": {"b": "2", "a": "1"}}).items()))
    hashes = [
        [m["metadata"]["annotations"][labels.APPLIED_HASH] for m in build_all(fleet(raw))] for raw in (one, other)
    ]
    assert hashes[0] == hashes[1]
