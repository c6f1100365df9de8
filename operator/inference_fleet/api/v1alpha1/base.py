"""The base of every API model: frozen, camelCase on the wire, unknown fields refused, rules kept."""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from inference_fleet.api.rules import Rule, attach, check


class ApiModel(BaseModel):
    """Frozen; read and written under camelCase names; an unknown field is an error, not a silence."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")

    rules: ClassVar[tuple[Rule[Any], ...]] = ()
    """What must hold between the fields; rendered into the CRD and checked here."""

    @model_validator(mode="after")
    def _follow_rules(self) -> Self:
        check(self.rules, self)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /) -> dict[str, Any]:
        return attach(cls.rules, core_schema, handler)
