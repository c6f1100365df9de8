"""Types of single fields: what a name, a quantity, a duration or an engine argument may be.

Each has a length, which bounds what its rules cost the API server, and rules with a sentence. Bounds of fractions are
rules as well: given a whole number, the API server cuts `minimum: 0.1` down to 0 and would admit a zero.
"""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat, StringConstraints

from inference_fleet.api.rules import Follows, Rule, matching
from inference_fleet.api.schema import list_type

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?"
_LABEL_VALUE = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_LABEL_KEY = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_ABOVE_ZERO = r"([0-9]*[1-9][0-9]*(\.[0-9]+)?|[0-9]+\.[0-9]*[1-9][0-9]*)"

ObjectName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=253),
    Follows(matching(_DNS_SUBDOMAIN, "the name of an object is of lower-case letters, digits, dashes and dots")),
]
LabelKey = Annotated[
    str,
    StringConstraints(min_length=1, max_length=317),
    Follows(matching(_LABEL_KEY, "a taint's key is written like a label key, such as nvidia.com/gpu")),
]
LabelValue = Annotated[
    str,
    StringConstraints(max_length=63),
    Follows(matching(f"({_LABEL_VALUE})?", "a label's value is of letters, digits, dashes, dots and underscores")),
]
NodeSelector = Annotated[
    dict[str, LabelValue],
    Field(max_length=16),
    Follows(
        Rule(
            cel=f"self.all(key, key.matches('^({_LABEL_KEY})$'))",
            holds=lambda selector: all(re.fullmatch(_LABEL_KEY, key) for key in selector),
            message="a key of nodeSelector is a label key, such as topology.kubernetes.io/zone",
        ),
    ),
]
PoolName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=32),
    Follows(matching(_DNS_LABEL, "the name of a pool is of lower-case letters, digits and dashes")),
]
GpuType = Annotated[
    str,
    StringConstraints(min_length=1, max_length=63),
    Follows(
        matching(
            _LABEL_VALUE,
            "gpu is what nodes are labelled with (nvidia.com/gpu.product), such as NVIDIA-H100-80GB-HBM3: no spaces",
        )
    ),
]
ResourceName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=253),
    Follows(matching(r"[a-z0-9.-]+/[A-Za-z0-9._-]+", "resourceName is an extended resource, such as nvidia.com/gpu")),
]

ModelName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=256),
    Follows(
        matching(
            r"[A-Za-z0-9]([A-Za-z0-9_./:@+-]*[A-Za-z0-9])?",
            "a model's name is of letters, digits and _./:@+- such as meta-llama/Llama-3.3-70B-Instruct",
        )
    ),
]
ModelUri = Annotated[
    str,
    StringConstraints(min_length=6, max_length=1024),
    Follows(
        matching(
            rf"(s3://[A-Za-z0-9][A-Za-z0-9._-]*|pvc://{_DNS_SUBDOMAIN})(/[A-Za-z0-9!_.*'()=+@:,/-]*)?",
            "a model's uri is s3://BUCKET/PREFIX or pvc://CLAIM/PATH, of letters, digits and !_.*'()=+@:,-",
        ),
        Rule(
            cel="!self.contains('/../') && !self.endsWith('/..')",
            holds=lambda uri: "/../" not in uri and not uri.endswith("/.."),
            message="a model's uri may not hold a '..' segment",
        ),
    ),
]
Endpoint = Annotated[
    str,
    StringConstraints(min_length=8, max_length=512),
    Follows(
        matching(
            r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]{1,5})?/?",
            "an endpoint is http://HOST:PORT or https://HOST:PORT, without a user, a path or a query; "
            "credentials go into credentialsSecret",
        )
    ),
]
Region = Annotated[
    str,
    StringConstraints(min_length=1, max_length=64),
    Follows(matching(r"[a-z0-9-]+", "a region is written like us-east-1")),
]
Image = Annotated[
    str,
    StringConstraints(min_length=1, max_length=512),
    Follows(matching(r"[!-~]+", "an image is written like vllm/vllm-openai:v0.33.0, without spaces")),
]

Duration = Annotated[
    str,
    StringConstraints(min_length=2, max_length=16),
    Follows(matching(r"([0-9]+h)?([0-9]+m)?([0-9]+s)?", "a duration is written like 90s, 20m or 1h30m")),
]
Timezone = Annotated[
    str,
    StringConstraints(min_length=1, max_length=64),
    Follows(matching(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", "a time zone is an IANA name, such as Asia/Shanghai")),
]


def _between(least: float, most: float) -> Follows[float]:
    return Follows(
        Rule(
            cel=f"self >= {least} && self <= {most}",
            holds=lambda share: least <= share <= most,
            message=f"a share is a fraction between {least} and {most}",
        )
    )


MemoryShare = Annotated[StrictFloat, _between(0.1, 0.99)]
UtilizationShare = Annotated[StrictFloat, _between(0.05, 1.0)]


def _whole_number_as_text(value: Any) -> Any:
    """`cpu: 8` means the same as `cpu: "8"`; fractions are written as text, as the API server demands."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _int_or_string(schema: dict[str, Any]) -> None:
    del schema["type"]
    schema |= {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}


def _quantity(pattern: str, message: str) -> Follows[str]:
    text = matching(pattern, message)
    return Follows(Rule(cel=f"type(self) == int ? self > 0 : {text.cel}", holds=text.holds, message=message))


CpuQuantity = Annotated[
    str,
    StringConstraints(min_length=1, max_length=32),
    _quantity(f"{_ABOVE_ZERO}m?", "cpu is a number of cores above zero, such as 8, 7500m or '7.5'"),
    BeforeValidator(_whole_number_as_text),
    Field(json_schema_extra=_int_or_string),
]
MemoryQuantity = Annotated[
    str,
    StringConstraints(min_length=1, max_length=32),
    _quantity(f"{_ABOVE_ZERO}(k|Ki|M|Mi|G|Gi|T|Ti)?", "memory is a number of bytes above zero, such as 64Gi"),
    BeforeValidator(_whole_number_as_text),
    Field(json_schema_extra=_int_or_string),
]

Argument = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2048),
    Follows(
        matching(r"[^\n\r\x00]*", "an item of extraArgs may not hold a line break; each argument is one item"),
        Rule(
            cel=r"!self.matches('^-[^=]*[ \\t]')",
            holds=lambda item: not (item.startswith("-") and {" ", "\t"} & set(item.partition("=")[0])),
            message="a flag and its value are two items of extraArgs ('--flag', 'value') or one '--flag=value'",
        ),
        Rule(
            cel="!(self in ['-', '--'])",
            holds=lambda item: item not in ("-", "--"),
            message="an item of extraArgs may not be a lone dash or '--', after which the engine reads no flags",
        ),
    ),
]
Arguments = Annotated[
    tuple[Argument, ...],
    Field(max_length=64, json_schema_extra=list_type("atomic")),
    Follows(
        Rule(
            cel="self.size() == 0 || self[0].startsWith('-')",
            holds=lambda items: not items or items[0].startswith("-"),
            message="extraArgs must begin with a flag, such as --max-num-batched-tokens",
        ),
    ),
]
