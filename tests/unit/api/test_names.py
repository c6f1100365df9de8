"""Derived names are legal, stay apart and never change (field report B01)."""

import re

import pytest

from inference_fleet.api import labels, names

DNS_1035 = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
SERVICES = ["chat", "a" * 63, "a" * 253, "qwen2.5-0.5b", "7b-chat", "x." + "b" * 60, "1", "a-" + "b" * 70]
MODELS = ["Meta-Llama/Llama-3.2_3B.Instruct", "m" * 120, "a:b@c+d", "-x-"]


@pytest.mark.parametrize("service", SERVICES)
def test_every_child_has_a_legal_name(service: str) -> None:
    for name in (
        names.client_service(service),
        names.engines_service(service),
        names.pool_child(service, "h100-80gb-sxm"),
        names.pool_child_fallback(service, "h100-80gb-sxm"),
    ):
        assert DNS_1035.fullmatch(name), name


@pytest.mark.parametrize("text", SERVICES + MODELS)
def test_every_label_value_is_legal(text: str) -> None:
    assert LABEL_VALUE.fullmatch(names.label_value(text))
    for value in labels.pool_labels(text, "h100").values():
        assert LABEL_VALUE.fullmatch(value)


def test_a_name_that_fits_is_kept() -> None:
    assert names.client_service("chat") == "chat"
    assert names.engines_service("chat") == "chat-engines"
    assert names.pool_child("chat", "h100") == "chat-h100"


def test_long_names_with_a_common_beginning_stay_apart() -> None:
    one, other = "s" * 55 + "-blue-of-team-a", "s" * 55 + "-blue-of-team-b"
    for derive in (names.client_service, names.engines_service, names.label_value):
        assert derive(one) != derive(other)
    assert names.pool_child(one, "h100") != names.pool_child(other, "h100")


@pytest.mark.parametrize("long", ["s" * 80, "s" * 53 + "-" * 10 + "t" * 20])
def test_nobody_can_take_the_label_of_a_long_name(long: str) -> None:
    assert names.label_value(names.label_value(long)) != names.label_value(long)


def test_the_two_readings_of_a_joined_name_stay_apart() -> None:
    assert names.pool_child("chat", "h100-a") == names.pool_child("chat-h100", "a")
    assert names.pool_child_fallback("chat", "h100-a") != names.pool_child_fallback("chat-h100", "a")


def test_selectors_and_shortened_names_are_frozen() -> None:
    """Changing any of these orphans running fleets: a Deployment's selector cannot be changed."""
    assert labels.selector_labels("qwen2.5-0.5b", "h100") == {
        "inferencefleet.io/service": "qwen2.5-0.5b",
        "inferencefleet.io/pool": "h100",
    }
    assert labels.service_labels("chat") == {
        "inferencefleet.io/service": "chat",
        "app.kubernetes.io/managed-by": "inference-fleet",
        "app.kubernetes.io/part-of": "inference-fleet",
        "app.kubernetes.io/component": "engine",
        "app.kubernetes.io/name": "chat",
    }
    assert names.client_service("qwen2.5-0.5b") == "qwen2-5-0-5b-02d40d8e"
    assert names.client_service("7b-chat") == "x7b-chat-e14c5e17"
    assert (
        names.pool_child("a" * 63, "h100-80gb-sxm") == "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-134a3f52"
    )
    assert names.label_value("a" * 70) == "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-6bd5e503"
