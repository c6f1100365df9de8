"""What commands read from files: an InferenceService, a model's facts, further GPU types. Errors are sentences."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from inference_fleet.api.labels import API_VERSION, KIND
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.catalog.models import ModelConfigError, ModelFacts, model_facts
from inference_fleet.cli import BadInput

INDEX = "model.safetensors.index.json"
_TOP_LEVEL = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})


@dataclass(frozen=True, slots=True)
class LoadedService:
    """An InferenceService from a file. `raw` is the object as written."""

    name: str
    namespace: str
    spec: InferenceServiceSpec
    raw: dict[str, Any]


def load_service(path: Path | str) -> LoadedService:
    """Read one InferenceService, YAML or JSON. Raises BadInput with a sentence per problem."""
    raw = _one_object(Path(path))
    for field, right in (("apiVersion", API_VERSION), ("kind", KIND)):
        if raw.get(field) != right:
            raise BadInput(f"{path}: {field} is {raw.get(field)!r}; {right} is right.")
    unknown = sorted(map(str, raw.keys() - _TOP_LEVEL))
    if unknown:
        raise BadInput(f"{path}: {unknown[0]} is not a field of an InferenceService; its settings stand under spec.")
    metadata = raw.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(metadata, Mapping) or not isinstance(name, str) or not name:
        raise BadInput(f"{path}: metadata.name is {name!r}; the service's name is right.")
    try:
        spec = InferenceServiceSpec.model_validate(raw.get("spec"))
    except ValidationError as error:
        raise BadInput("\n".join(f"{path}: {sentence}" for sentence in spec_errors(error))) from None
    return LoadedService(name=name, namespace=str(metadata.get("namespace") or "default"), spec=spec, raw=raw)


def spec_errors(error: ValidationError) -> Iterator[str]:
    """One sentence per problem: the path as written in YAML, the value, what is right."""
    for problem in error.errors(include_url=False, include_context=False):
        path = "spec" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
        if problem["type"] == "missing":
            yield f"{path} is missing; it is required."
        elif problem["type"] == "extra_forbidden":
            yield f"{path} is not a known field."
        elif isinstance(problem["input"], Mapping | list | tuple) or not isinstance(
            problem["input"], str | int | float
        ):
            yield f"{path}: {problem['msg']}."
        else:
            yield f"{path} is {_shown(problem['input'])}: {problem['msg']}."


def _shown(value: Any) -> str:
    text = json.dumps(value, default=str) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def load_model_facts(path: Path | str | None) -> ModelFacts | None:
    """Facts from a model's folder or its `config.json` alone; None without a path. Raises BadInput."""
    if path is None:
        return None
    given = Path(path)
    config_file = given / "config.json" if given.is_dir() else given
    config = _json_object(config_file)
    index_file = config_file.with_name(INDEX)
    index = _json_object(index_file) if index_file.is_file() else None
    files = {file.name: file.stat().st_size for file in config_file.parent.glob("*.safetensors")}
    try:
        return model_facts(config, index, files)
    except ModelConfigError as error:
        raise BadInput(f"{config_file}: {str(error).removeprefix('config.json: ')}") from None


def load_catalog(path: Path | str | None) -> GpuCatalog:
    """The built-in GPU types, with those of a file (`gpus:` and a list, or the list alone). Raises BadInput."""
    catalog = GpuCatalog.builtin()
    if path is None:
        return catalog
    documents = _documents(Path(path))
    content = documents[0] if len(documents) == 1 else None
    entries = content.get("gpus") if isinstance(content, Mapping) else content
    if not isinstance(entries, list):
        raise BadInput(f"{path}: gpus is {_shown(entries)}; a list of GPU types is right.")
    try:
        return catalog.extended(entries)
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from None


def _one_object(path: Path) -> dict[str, Any]:
    documents = [document for document in _documents(path) if document is not None]
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise BadInput(f"{path}: {len(documents)} documents; one InferenceService object is right.")
    return documents[0]


def _documents(path: Path) -> list[Any]:
    text = _text(path)
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return list(yaml.load_all(text, Loader=loader))
    except RecursionError:
        raise BadInput(f"{path}: nested too deeply.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise BadInput(f"{path}: neither YAML nor JSON{where}: {getattr(error, 'problem', None) or error}.") from None


def _json_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: {_shown(content)}; a JSON object is right.")
    return content


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise BadInput(f"{path}: not a text file in UTF-8.") from None
