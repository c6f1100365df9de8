"""The CustomResourceDefinition, made from the models: what the API server refuses, shows and explains."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from inference_fleet.api import labels, names
from inference_fleet.api.rules import VALIDATIONS, cel_string
from inference_fleet.api.schema import Schema, structural_schema
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.api.v1alpha1.status import InferenceServiceStatus

_READY = '.status.conditions[?(@.type=="Ready")]'
_COLUMNS = (
    # name, type, JSONPath, description, only with -o wide
    ("Ready", "string", f"{_READY}.status", "Whether the service serves what its spec asks for.", False),
    ("Serving", "string", ".status.totals.serving", "Loaded serving replicas / wanted ones.", False),
    ("Warm", "string", ".status.totals.warm", "Loaded standby replicas / wanted ones.", False),
    ("Loading", "integer", ".status.totals.loading", "Replicas on their way.", False),
    ("Reason", "string", f"{_READY}.reason", "Why Ready has its status.", False),
    ("Age", "date", ".metadata.creationTimestamp", "Time since creation.", False),
    ("GPUs", "integer", ".status.totals.gpus", "GPUs of all wanted replicas.", True),
    ("Floor", "integer", ".status.totals.floor", "Fewest serving replicas the forecast asks for.", True),
    ("Lock", "string", ".status.totals.lock", "Hash over the pools' locks.", True),
)

_NAME_RULE = {
    # `optionalOldSelf` with `oldSelf.hasValue()`: on create only. A name never changes, and an update of an object
    # that was stored before the rule (such as the one that removes a finalizer) must pass.
    "rule": f"oldSelf.hasValue() || !self.metadata.name.endsWith({cel_string(names.ENGINES_SUFFIX)})",
    "optionalOldSelf": True,
    "message": f"metadata.name may not end in {names.ENGINES_SUFFIX}: the Service over a fleet's engines is named "
    f"<service>{names.ENGINES_SUFFIX}",
}


def crd(locked_flags: Mapping[str, str]) -> dict[str, Any]:
    """The definition as `kubectl apply` takes it.

    `locked_flags`: engine flag -> the field of the spec that sets it; such a flag is refused in extraArgs.
    """
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{labels.PLURAL}.{labels.GROUP}"},
        "spec": {
            "group": labels.GROUP,
            "scope": "Namespaced",
            "names": {
                "kind": labels.KIND,
                "listKind": f"{labels.KIND}List",
                "plural": labels.PLURAL,
                "singular": labels.KIND.lower(),
                "shortNames": ["ifs"],
                "categories": ["inference"],
            },
            "versions": [
                {
                    "name": labels.VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "additionalPrinterColumns": [_column(*column) for column in _COLUMNS],
                    "schema": {"openAPIV3Schema": _schema(locked_flags)},
                }
            ],
        },
    }


def _column(name: str, kind: str, path: str, description: str, wide: bool) -> dict[str, Any]:
    column = {"name": name, "type": kind, "jsonPath": path, "description": description}
    return {**column, "priority": 1} if wide else column


def _schema(locked_flags: Mapping[str, str]) -> Schema:
    spec = structural_schema(InferenceServiceSpec)
    of_service = spec["properties"]["engine"]
    of_pool = spec["properties"]["pools"]["items"]["properties"]["engine"]
    for engine in (of_service, of_pool):
        argument = engine["properties"]["extraArgs"]["items"]
        argument[VALIDATIONS] = [*argument[VALIDATIONS], *locked_flag_rules(locked_flags)]
    status = structural_schema(InferenceServiceStatus)
    # kstatus takes an object without a Ready condition for ready, unless it sees an older generation observed.
    status["default"] = {"observedGeneration": -1}
    return {
        "description": "InferenceService runs one model as a fleet of vLLM replicas over several GPU types.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"description": f"Always {labels.API_VERSION}.", "type": "string"},
            "kind": {"description": f"Always {labels.KIND}.", "type": "string"},
            "metadata": {"type": "object"},
            "spec": spec,
            "status": status,
        },
        VALIDATIONS: [_NAME_RULE],
    }


def locked_flag_rules(locked_flags: Mapping[str, str]) -> list[dict[str, str]]:
    """One rule for each locked field: no item of extraArgs may be one of its flags, in any spelling of the engine.

    The engine's parser takes `--flag=value`, `--flag.key`, `_` for `-`, and the beginning of a flag. So an item is
    refused when its name is the beginning of a locked flag; one that begins other flags too would stop the engine.
    Looking it up in one string of all spellings costs a fraction of a loop over them, by the API server's estimate
    (1,024 possible items of 2,048 characters); one rule per field lets the sentence name the field.
    """
    flags_of: dict[str, list[str]] = defaultdict(list)
    for flag, field in locked_flags.items():
        flags_of[field].append(flag)
    return [
        {
            "rule": f"!self.startsWith('-') || self in ['-', '--'] || {cel_string('|' + '|'.join(flags))}"
            ".indexOf('|' + self.find('^[^=.+ ]*').replace('_', '-')) < 0",
            "message": f"this flag is locked and follows from {field}; leave it out of extraArgs",
        }
        for field, flags in flags_of.items()
    ]
