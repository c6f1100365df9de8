"""The definition itself: what it holds, and that the committed file is the one made from the models."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inference_fleet.api.crd import crd
from inference_fleet.catalog.engines import LOCKED_FLAGS
from inference_fleet.cli.crd import as_yaml

COMMITTED = Path(__file__).parents[3] / "crds" / "inferencefleet.io_inferenceservices.yaml"
ANNOTATION_LIMIT = 256 * 1024
"""Of all annotations of an object; client-side apply keeps the whole object in one."""

DEFINITION = crd(LOCKED_FLAGS)
VERSION = DEFINITION["spec"]["versions"][0]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema under `schema`, with its path."""
    yield path, schema
    for name, child in schema.get("properties", {}).items():
        yield from nodes(child, f"{path}.{name}")
    for key, mark in (("items", "[]"), ("additionalProperties", "{}")):
        if key in schema:
            yield from nodes(schema[key], path + mark)


NODES = dict(nodes(SCHEMA))


def test_the_committed_file_is_generated() -> None:
    assert COMMITTED.read_text() == as_yaml(), f"run: inference-fleet crd > crds/{COMMITTED.name}"


def test_it_is_small_enough_for_a_plain_apply() -> None:
    assert len(json.dumps(DEFINITION)) < ANNOTATION_LIMIT / 4


@pytest.mark.parametrize("path", [path for path in NODES if not path.endswith(("[]", "{}", ".metadata"))])
def test_every_field_is_described(path: str) -> None:
    assert len(NODES[path]["description"]) > 5


def test_the_only_default_says_that_nothing_was_observed_yet() -> None:
    assert [(path, node["default"]) for path, node in NODES.items() if "default" in node] == [
        (".status", {"observedGeneration": -1})
    ]


def test_all_that_rules_walk_is_bounded() -> None:
    for path, node in NODES.items():
        if not path.startswith(".spec"):
            continue
        if node.get("type") == "string":
            assert "enum" in node or node["maxLength"] <= 2048, path
        if node.get("type") == "array":
            assert node["maxItems"] <= 64, path
        if "additionalProperties" in node:
            assert node["maxProperties"] <= 16, path


def test_lists_say_how_appliers_merge_them() -> None:
    kinds = {path: node["x-kubernetes-list-type"] for path, node in NODES.items() if node.get("type") == "array"}
    assert kinds == {
        ".spec.engine.extraArgs": "atomic",
        ".spec.pools": "map",
        ".spec.pools[].engine.extraArgs": "atomic",
        ".spec.pools[].tolerations": "atomic",
        ".spec.imagePullSecrets": "set",
        ".status.conditions": "map",
        ".status.pools": "map",
    }
    assert NODES[".spec.pools"]["x-kubernetes-list-map-keys"] == ["name"]
    assert NODES[".status.conditions"]["x-kubernetes-list-map-keys"] == ["type"]


def test_every_rule_has_a_sentence_that_fits_one_line() -> None:
    rules = [rule for node in NODES.values() for rule in node.get("x-kubernetes-validations", ())]
    assert len(rules) > 40
    for rule in rules:
        assert 10 < len(rule["message"]) < 200
        assert "\n" not in rule["message"]


def test_columns_show_status_fields_that_exist() -> None:
    columns = {column["name"]: column for column in VERSION["additionalPrinterColumns"]}
    assert [name for name, column in columns.items() if "priority" not in column] == [
        "Ready",
        "Serving",
        "Warm",
        "Loading",
        "Reason",
        "Age",
    ]
    assert [name for name, column in columns.items() if column.get("priority") == 1] == ["GPUs", "Floor", "Lock"]
    for column in columns.values():
        path = re.sub(r"\[.*?\)\]", "[]", column["jsonPath"])
        assert path == ".metadata.creationTimestamp" or NODES[path]["type"] == column["type"], path
