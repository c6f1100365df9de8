"""The operator's settings: what an installation decides, read once from the environment.

The chart sets the variables from its values. Nothing else in the operator's process reads the environment, so this
module is the whole list. An empty variable counts as one that is not set.
"""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from inference_fleet.api.names import MAX_LABEL

PREFIX = "INFERENCE_FLEET_"

_LISTS = ("image_pull_secrets", "watch_namespaces", "secret_namespaces", "allowed_store_networks")


class SettingsError(ValueError):
    """The environment holds values the operator cannot run with: one sentence a variable, joined by newlines."""


def _written(pattern: str, how: str) -> AfterValidator:
    def check(text: str) -> str:
        if not re.fullmatch(pattern, text):
            raise ValueError(f"must be {how}")
        return text

    return AfterValidator(check)


def _network(cidr: str) -> str:
    try:
        ip_network(cidr)
    except ValueError as error:
        raise ValueError(f"must be networks such as 10.20.0.0/16 or fd00::/8, and {error}") from None
    return cidr


def _absolute(path: PurePosixPath) -> PurePosixPath:
    if not path.is_absolute() or ".." in path.parts or len(path.parts) < 3:
        raise ValueError("must be an absolute path at least two levels deep without '..', such as /var/lib/models")
    return path


_LABEL = rf"[a-z0-9]([-a-z0-9]{{0,{MAX_LABEL - 2}}}[a-z0-9])?"

Namespace = Annotated[str, _written(_LABEL, "names of namespaces, such as team-a,team-b")]
SecretName = Annotated[
    str, _written(rf"(?=.{{1,253}}$){_LABEL}(\.{_LABEL})*", "names of Secrets, such as registry,mirror")
]
Quantity = Annotated[str, _written(r"[1-9][0-9]*(\.[0-9]+)?(k|Ki|M|Mi|G|Gi|T|Ti)?", "a size such as 500Gi")]
Image = Annotated[str, _written(r"[!-~]{1,512}", "an image reference without spaces")]
Network = Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)]
Port = Annotated[int, Field(ge=1, le=65_535)]


class Settings(BaseModel):
    """Every setting, frozen. `WORKERS` in the environment is `INFERENCE_FLEET_WORKERS`, and so on."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    operator_image: Image
    """Image of this operator; required. It runs `inference-fleet pull` in every engine pod, so it must be an image
    that the nodes of the fleet can pull. The chart gives the Deployment's own image."""

    default_engine_image: Image = "vllm/vllm-openai:v0.33.0"
    """vLLM image of services that name none. A new value is for new services: running ones keep the image they are
    locked with until their spec names another."""

    cache_host_path: Annotated[PurePosixPath, AfterValidator(_absolute)] = PurePosixPath(
        "/var/lib/inference-fleet/models"
    )
    """Directory on every node for caches of type Node. It must be writable by uid 10001, which the chart's node cache
    DaemonSet sees to. A new value rolls every pod with such a cache, and each node fetches its models again."""

    cache_claim_size: Quantity = "500Gi"
    """Size of an Ephemeral or PersistentVolumeClaim cache where the model's size is not known."""

    image_pull_secrets: tuple[SecretName, ...] = ()
    """Names of pull secrets put on every pod beside those of the service, comma-separated. The secrets have to exist
    in the service's namespace; the operator copies none."""

    watch_namespaces: tuple[Namespace, ...] = ()
    """Namespaces whose services are served, comma-separated; empty: all. Others are neither listed nor watched."""

    secret_namespaces: tuple[Namespace, ...] = ()
    """Namespaces in which a service's store credentials may be read, comma-separated; empty: all that are watched.
    A service elsewhere that names a credentials Secret is refused with the reason CredentialsMissing."""

    allowed_store_networks: tuple[Network, ...] = ()
    """Networks in CIDR form, comma-separated, whose addresses may be store endpoints although they are loopback,
    link-local or metadata addresses; empty: all such addresses are refused."""

    gpu_catalog: Path | None = None
    """YAML file with GPU types that are added to the built-in catalogue or replace entries of it; none: the
    built-in ones only."""

    lease_namespace: Namespace | None = None
    """Namespace of the Lease that makes one of several operators the writer: the operator's own. None: no Lease is
    taken, and nobody else may be running."""

    workers: Annotated[int, Field(ge=1, le=64)] = 32
    """How many services are reconciled at once. More hides the latency of the API server and loads it more."""

    resync_seconds: Annotated[int, Field(ge=30, le=86_400)] = 600
    """Seconds between two looks at a service that nothing happened to. It repairs what a lost event hid; each look
    costs reads only. Spread over the period, so that services do not come all at once."""

    health_port: Port = 8080
    """TCP port of /healthz and /readyz."""

    metrics_port: Port = 8080
    """TCP port of /metrics; the same as the health port: one server answers all three."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level that is logged."""

    log_format: Literal["json", "text"] = "json"
    """`json`: an object a line, for log collectors; `text`: for a person at a terminal."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read the settings; raise SettingsError with a sentence for every bad variable."""
        given: dict[str, Any] = {
            field: environ[variable]
            for field in cls.model_fields
            if environ.get(variable := PREFIX + field.upper(), "").strip()
        }
        for field in given:
            text = given[field].strip()
            given[field] = tuple(part.strip() for part in text.split(",") if part.strip()) if field in _LISTS else text
        try:
            return cls(**given)
        except ValidationError as error:
            raise SettingsError("\n".join(_sentence(problem) for problem in error.errors())) from None


def _sentence(problem: ErrorDetails) -> str:
    variable = PREFIX + str(problem["loc"][0]).upper()
    if problem["type"] == "missing":
        return f"{variable} is not set: it must name the image of this operator."
    wrong = problem["msg"].removeprefix("Value error, ")
    return f"{variable} has {str(problem['input'])!r}: {wrong[0].lower()}{wrong[1:]}."
