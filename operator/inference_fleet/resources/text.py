"""Manifests as YAML that every reader takes the same way."""

import re
from collections.abc import Iterable
from typing import Any

import yaml

_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./:@-]*|--[a-z][a-z0-9-]*|[0-9]+(m|[KMGT]i)")


class _Dumper(yaml.SafeDumper):
    """Double-quotes every string that is not plainly a word, a path, a flag or a quantity.

    PyYAML leaves `y` and `12e345` (a possible lock) bare, which the parser of Kubernetes tools reads as a truth value
    and as a number; the API server then refuses the object.
    """

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        plain = _PLAIN.fullmatch(data) is not None and data.lower() not in _WORDS
        return self.represent_scalar("tag:yaml.org,2002:str", data, style=None if plain else '"')


_Dumper.add_representer(str, _Dumper.represent_text)


def to_yaml(objects: Iterable[dict[str, Any]]) -> str:
    """One document per object, keys in the order they were built in."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, allow_unicode=True, width=2**16)
