"""Types of single fields: what a name, a quantity, a duration or an engine argument may be.

Names that Kubernetes defines are checked by `pattern`; what people mistype is checked by a rule with a sentence.
"""

import re
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from inference_fleet.api.rules import Follows, Rule, matching
from inference_fleet.api.schema import list_type

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
LABEL_VALUE = r"^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
LABEL_KEY = r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_POSITIVE = r"([0-9]*[1-9][0-9]*(\.[0-9]+)?|[0-9]+\.[0-9]*[1-9][0-9]*)"
CPU = rf"^{_POSITIVE}m?$"
MEMORY = rf"^{_POSITIVE}(k|Ki|M|Mi|G|Gi|T|Ti)?$"

ObjectName = Annotated[str, StringConstraints(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]
LabelKey = Annotated[str, StringConstraints(min_length=1, max_length=317, pattern=f"^{LABEL_KEY}$")]
LabelValue = Annotated[str, StringConstraints(max_length=63, pattern=LABEL_VALUE)]

Duration = Annotated[
    str,
    StringConstraints(min_length=2, max_length=16),
    Follows((matching(r"([0-9]+h)?([0-9]+m)?([0-9]+s)?", "a duration is written like 90s, 20m or 1h30m"),)),
]

Timezone = Annotated[
    str,
    StringConstraints(min_length=1, max_length=64),
    Follows((matching(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", "a time zone is an IANA name, such as Asia/Shanghai"),)),
]

Image = Annotated[
    str,
    StringConstraints(min_length=1, max_length=512),
    Follows((matching(r"[!-~]+", "an image is written like vllm/vllm-openai:v0.33.0, without spaces"),)),
]

Endpoint = Annotated[
    str,
    StringConstraints(min_length=8, max_length=512),
    Follows(
        (
            matching(
                r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?)(:[0-9]{1,5})?/?",
                "an endpoint is http://HOST:PORT or https://HOST:PORT, without a user, a path or a query; "
                "credentials go into credentialsSecret",
            ),
        )
    ),
]

ModelUri = Annotated[
    str,
    StringConstraints(min_length=6, max_length=1024),
    Follows(
        (
            matching(
                r"(s3://[A-Za-z0-9][A-Za-z0-9._-]*|pvc://[a-z0-9]([-a-z0-9.]*[a-z0-9])?)(/[A-Za-z0-9!_.*'()=+@:,/-]*)?",
                "a model's uri is s3://BUCKET/PREFIX or pvc://CLAIM/PATH, of letters, digits and !_.*'()=+@:,-",
            ),
            Rule(
                cel="!self.contains('/../') && !self.endsWith('/..')",
                holds=lambda uri: "/../" not in uri and not uri.endswith("/.."),
                message="a model's uri may not hold a '..' segment",
            ),
        )
    ),
]


def _whole_number_as_text(value: Any) -> Any:
    """`cpu: 8` means the same as `cpu: "8"`; fractions are written as text, as the API server demands."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _int_or_string(schema: dict[str, Any]) -> None:
    del schema["type"]
    schema |= {
        "x-kubernetes-int-or-string": True,
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "minimum": 1,
    }


CpuQuantity = Annotated[
    str,
    StringConstraints(min_length=1, max_length=32, pattern=CPU),
    BeforeValidator(_whole_number_as_text),
    Field(json_schema_extra=_int_or_string),
]
MemoryQuantity = Annotated[
    str,
    StringConstraints(min_length=1, max_length=32, pattern=MEMORY),
    BeforeValidator(_whole_number_as_text),
    Field(json_schema_extra=_int_or_string),
]

Argument = Annotated[
    str,
    StringConstraints(min_length=1, max_length=2048),
    Follows(
        (
            matching(r"[^\n\r\x00]*", "an item of extraArgs may not hold a line break; each argument is one item"),
            Rule(
                cel=r"!self.matches('^-[^=]*[ \\t]')",
                holds=lambda text: not (text.startswith("-") and {" ", "\t"} & set(text.partition("=")[0])),
                message="a flag and its value are two items of extraArgs ('--flag', 'value') or one '--flag=value'",
            ),
        )
    ),
]
Arguments = Annotated[
    tuple[Argument, ...],
    Field(max_length=64, json_schema_extra=list_type("atomic")),
    Follows(
        (
            Rule(
                cel="self.size() == 0 || self[0].startsWith('-')",
                holds=lambda items: not items or items[0].startswith("-"),
                message="extraArgs must begin with a flag, such as --max-num-batched-tokens",
            ),
        )
    ),
]

NodeSelector = Annotated[
    dict[str, LabelValue],
    Field(max_length=16),
    Follows(
        (
            Rule(
                cel=f"self.all(key, key.matches('^{LABEL_KEY}$'))",
                holds=lambda selector: all(re.fullmatch(LABEL_KEY, key) for key in selector),
                message="a key of nodeSelector is a label key, such as topology.kubernetes.io/zone",
            ),
        )
    ),
]
