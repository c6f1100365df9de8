"""JSON schema as pydantic writes it becomes the subset that a CustomResourceDefinition takes."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from inference_fleet.api.schema import structural_schema


class Inner(BaseModel):
    """The inner one."""

    word: str


class Outer(BaseModel):
    """The outer one."""

    plain: Inner
    said: Inner | None = Field(default=None, description="Said beside the reference.")
    share: float | None = Field(default=None, gt=0, lt=1)
    always: Literal["x"]
    choice: Literal["a", "b"] | None = None
    many: tuple[Inner, ...] = ()
    pairs: dict[str, Annotated[str, Field(max_length=3)]] = Field(default_factory=dict)


INNER = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}


def test_every_construct_is_structural() -> None:
    assert structural_schema(Outer) == {
        "description": "The outer one.",
        "type": "object",
        "properties": {
            "plain": {"description": "The inner one.", **INNER},
            "said": {"description": "Said beside the reference.", **INNER},
            "share": {
                "type": "number",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 1,
                "exclusiveMaximum": True,
            },
            "always": {"type": "string", "enum": ["x"]},
            "choice": {"type": "string", "enum": ["a", "b"]},
            "many": {"type": "array", "items": {"description": "The inner one.", **INNER}},
            "pairs": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 3}},
        },
        "required": ["plain", "always"],
    }
