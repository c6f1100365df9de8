import pytest
import yaml

from inference_fleet.resources.text import to_yaml


@pytest.mark.parametrize("word", ["y", "N", "yes", "on", "Off", "true", "null", "~", "12e3456789", "0o17", "1:20", ""])
def test_what_a_parser_could_misread_is_quoted(word: str) -> None:
    assert f'"{word}"' in to_yaml([{"label": word}])


@pytest.mark.parametrize("text", ["vllm/vllm-openai:v0.33.0", "/dev/shm", "--max-model-len", "500m", "98Gi"])  # noqa: S108
def test_names_paths_flags_and_quantities_stay_bare(text: str) -> None:
    assert to_yaml([{"value": text}]) == f"---\nvalue: {text}\n"


def test_text_reads_back_as_it_was() -> None:
    value = {
        "args": ['{"a": [1, 2]}', "a: b", "- x", "--", "---", "é\n", "#"],
        "n": 3,
        "f": 0.5,
        "b": False,
        "shared": ["x"],
    }
    value["again"] = value["shared"]
    text = to_yaml([value, {"second": "y"}])
    assert list(yaml.safe_load_all(text)) == [value, {"second": "y"}]
    assert "&" not in text
