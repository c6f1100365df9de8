"""Rules between and within fields: each is said once, in CEL for the API server and in Python for the loop and the CLI.

The API server refuses a bad object on create and update (`x-kubernetes-validations`). The same rules hold wherever
the models are parsed, because an object may have been stored under an older, looser schema, and because `plan -f`
works without a cluster. A test puts one table of examples through both.

The API server bounds the estimated cost of every rule, so all that a rule walks has a maxLength or maxItems.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

T = TypeVar("T")
VALIDATIONS = "x-kubernetes-validations"


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """One rule: what must hold, in both languages, and the sentence for who broke it."""

    cel: str | None
    """None where the schema says it without CEL: unique items of a list of type `map` or `set`. (In CEL it would also
    stand in the way of deletion: the API server excuses what did not change, but finds no old item for a twin.)"""
    holds: Callable[[T], bool]
    message: str


def check(rules: Iterable[Rule[T]], value: T) -> None:
    """Raise the pydantic error of the first rule that `value` breaks."""
    for rule in rules:
        if not rule.holds(value):
            raise PydanticCustomError("rule", "{sentence}", {"sentence": rule.message})


def attach(rules: Iterable[Rule[Any]], schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
    """The JSON schema of `schema` with the rules on it."""
    json_schema = handler(schema)
    if written := [{"rule": rule.cel, "message": rule.message} for rule in rules if rule.cel]:
        handler.resolve_ref_schema(json_schema)[VALIDATIONS] = written
    return json_schema


class Follows(Generic[T]):
    """Annotation of a field's type: its values follow these rules."""

    def __init__(self, *rules: Rule[T]) -> None:
        self.rules = rules

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def _checked(self, value: T) -> T:
        check(self.rules, value)
        return value

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return attach(self.rules, schema, handler)


def cel_string(text: str) -> str:
    """`text` as a CEL string literal."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{escaped}'"


def matching(pattern: str, message: str) -> Rule[str]:
    """The rule that the whole string matches `pattern` (the common part of RE2 and Python's re).

    Used in place of `pattern` where "should match '^(s3://...'" would tell the user nothing.
    """
    compiled = re.compile(pattern, re.ASCII)
    return Rule(
        cel=f"self.matches({cel_string(f'^({pattern})$')})",
        holds=lambda text: compiled.fullmatch(text) is not None,
        message=message,
    )
