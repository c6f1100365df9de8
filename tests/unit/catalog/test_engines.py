import pytest

from inference_fleet.catalog.engines import NEWEST, engine_version


@pytest.mark.parametrize(
    ("image", "number"),
    [
        ("vllm/vllm-openai:v0.33.0", (0, 33, 0)),
        ("store:5000/vllm:0.9.1", (0, 9, 1)),
        ("vllm/vllm-openai:v0.11.0rc1-cu129", (0, 11, 0)),
        ("vllm/vllm-openai:v0.10.1.1@sha256:00ff", (0, 10, 1)),
    ],
)
def test_a_tag_says_the_version(image: str, number: tuple[int, int, int]) -> None:
    version = engine_version(image)
    assert version.number == number
    assert version.known


@pytest.mark.parametrize(
    "image",
    ["vllm@sha256:00ff", "vllm:latest", "store:5000/vllm", "vllm:nightly-0123abc", "vllm:prod-7", "vllm:20261201"],
)
def test_without_a_version_the_newest_is_assumed_and_said_to_be_unknown(image: str) -> None:
    version = engine_version(image)
    assert version.number == NEWEST
    assert not version.known


@pytest.mark.parametrize("image", ["vllm:v0.99.0", "vllm:v0.3.0", "engine:1.2.3"])
def test_versions_outside_the_tables_keep_their_number_and_are_unknown(image: str) -> None:
    assert not engine_version(image).known


def test_defaults_follow_the_version() -> None:
    assert engine_version("v:0.19.1").default_utilization == 0.9
    assert engine_version("v:0.20.0").default_utilization == 0.92
    assert not engine_version("v:0.20.2").counts_graphs
    assert engine_version("v:0.21.0").counts_graphs
