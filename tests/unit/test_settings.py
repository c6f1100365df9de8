"""What the operator reads from its environment, and what it says about values it cannot run with."""

from ipaddress import ip_network
from pathlib import Path, PurePosixPath

import pytest
from pydantic import ValidationError

from inference_fleet.settings import PREFIX, Settings, SettingsError

IMAGE = {"INFERENCE_FLEET_OPERATOR_IMAGE": "registry.example/operator:1"}


def read(**variables: str) -> Settings:
    return Settings.from_environ(IMAGE | {PREFIX + name: value for name, value in variables.items()})


def complaints(**variables: str) -> list[str]:
    with pytest.raises(SettingsError) as raised:
        read(**variables)
    return str(raised.value).splitlines()


def test_only_the_operators_image_has_to_be_given() -> None:
    assert read().operator_image == "registry.example/operator:1"
    with pytest.raises(SettingsError, match=r"^INFERENCE_FLEET_OPERATOR_IMAGE is not set: "):
        Settings.from_environ({})


def test_every_variable_is_read() -> None:
    settings = read(
        DEFAULT_ENGINE_IMAGE="mirror.example/vllm:v1",
        CACHE_HOST_PATH="/mnt/nvme/models",
        CACHE_CLAIM_SIZE="1Ti",
        IMAGE_PULL_SECRETS="reg, other.reg",
        WATCH_NAMESPACES="team-a,team-b",
        SECRET_NAMESPACES="team-a",
        ALLOWED_STORE_NETWORKS="127.0.0.0/8, fd00::/8",
        GPU_CATALOG="/etc/inference-fleet/gpus.yaml",
        WORKERS="16",
        RESYNC_SECONDS="300",
        HEALTH_PORT="8081",
        METRICS_PORT="9090",
        LOG_LEVEL="debug",
        LOG_FORMAT="text",
    )
    assert settings == Settings(
        operator_image="registry.example/operator:1",
        default_engine_image="mirror.example/vllm:v1",
        cache_host_path=PurePosixPath("/mnt/nvme/models"),
        cache_claim_size="1Ti",
        image_pull_secrets=("reg", "other.reg"),
        watch_namespaces=("team-a", "team-b"),
        secret_namespaces=("team-a",),
        allowed_store_networks=(ip_network("127.0.0.0/8"), ip_network("fd00::/8")),
        gpu_catalog=Path("/etc/inference-fleet/gpus.yaml"),
        workers=16,
        resync_seconds=300,
        health_port=8081,
        metrics_port=9090,
        log_level="debug",
        log_format="text",
    )


def test_an_empty_variable_is_one_that_is_not_set() -> None:
    assert read(WATCH_NAMESPACES="", WORKERS=" ", GPU_CATALOG="", IMAGE_PULL_SECRETS=" , ") == read()


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("WORKERS", "many", "integer"),
        ("WORKERS", "0", "greater than or equal to 1"),
        ("RESYNC_SECONDS", "1", "greater than or equal to 30"),
        ("HEALTH_PORT", "70000", "less than or equal to 65535"),
        ("METRICS_PORT", "tcp://10.0.0.1:8080", "integer"),
        ("LOG_LEVEL", "loud", "'debug', 'info', 'warning' or 'error'"),
        ("WATCH_NAMESPACES", "team-a,Team_B", "must be names of namespaces"),
        ("SECRET_NAMESPACES", "a.b", "must be names of namespaces"),
        ("ALLOWED_STORE_NETWORKS", "10.0.0.1/8", "host bits set"),
        ("ALLOWED_STORE_NETWORKS", "minio.storage", "must be networks such as 10.20.0.0/16"),
        ("CACHE_HOST_PATH", "models", "absolute path"),
        ("CACHE_HOST_PATH", "/", "absolute path"),
        ("CACHE_HOST_PATH", "/var/lib/../../etc", "absolute path"),
        ("CACHE_CLAIM_SIZE", "lots", "a size such as 500Gi"),
        ("IMAGE_PULL_SECRETS", "reg,My_Secret", "names of Secrets"),
        ("WATCH_NAMESPACES", "a" * 64, "names of namespaces"),
        ("OPERATOR_IMAGE", "two words", "without spaces"),
    ],
)
def test_a_bad_value_is_answered_with_one_sentence(variable: str, value: str, says: str) -> None:
    (sentence,) = complaints(**{variable: value})
    assert sentence.startswith(f"INFERENCE_FLEET_{variable} has ")
    assert says in sentence


def test_all_bad_values_are_named_at_once() -> None:
    assert [line.split()[0] for line in complaints(WORKERS="x", LOG_FORMAT="xml")] == [
        "INFERENCE_FLEET_WORKERS",
        "INFERENCE_FLEET_LOG_FORMAT",
    ]


def test_settings_do_not_change_while_the_operator_runs() -> None:
    with pytest.raises(ValidationError):
        read().workers = 2
