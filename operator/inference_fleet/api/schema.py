"""JSON schema as pydantic writes it -> structural schema as a CustomResourceDefinition needs it.

Kubernetes takes a subset: no `$ref`, no `anyOf` around a null, no `title`, no `additionalProperties: false` beside
properties, exclusive bounds as booleans. Defaults are dropped too: the API server would write them into the live
object, which then differs from Git for ever.
"""

from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]


def list_type(kind: str, *keys: str) -> dict[str, Any]:
    """How server-side apply merges a list: `atomic`, `set`, or `map` with the fields that identify an item."""
    return {"x-kubernetes-list-type": kind} | ({"x-kubernetes-list-map-keys": list(keys)} if keys else {})


_DROPPED = frozenset({"title", "default", "$defs", "propertyNames"})


def structural_schema(model: type[BaseModel]) -> Schema:
    """The structural schema of a model, under the names on the wire."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.get("$defs", {}))


def _structural(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    flat = _flattened(schema, definitions)
    result: Schema = {key: flat[key] for key in ("description", "type") if key in flat}
    for key, value in flat.items():
        if key in _DROPPED:
            continue
        if key == "properties":
            result[key] = {name: _structural(each, definitions) for name, each in value.items()}
        elif key == "items":
            result[key] = _structural(value, definitions)
        elif key == "additionalProperties":
            if value is not False:
                result[key] = _structural(value, definitions)
        elif key == "const":
            result["enum"] = [value]
        elif key in ("exclusiveMinimum", "exclusiveMaximum"):
            result |= {key: True, key.removeprefix("exclusive").lower(): value}
        else:
            result[key] = value
    return result


def _flattened(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """`schema` without a reference and without a null alternative; what stands beside them wins (descriptions)."""
    beside = dict(schema)
    if reference := beside.pop("$ref", None):
        target = definitions[reference.removeprefix("#/$defs/")]
        return {**_flattened(target, definitions), **beside}
    alternatives = beside.get("anyOf", [])
    if {"type": "null"} in alternatives:
        del beside["anyOf"]
        (other,) = (each for each in alternatives if each != {"type": "null"})
        return {**_flattened(other, definitions), **beside}
    return beside
