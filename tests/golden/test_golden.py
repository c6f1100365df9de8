"""The manifests of known services, byte for byte.

A change of an output file that is released is a rollout of every such fleet on upgrade. If it is meant:
`.venv/bin/python -m tests.golden.regenerate`, and read the diff.
"""

from pathlib import Path

import pytest
import yaml

from inference_fleet.resources.build import build_all
from tests.golden.fleets import FOLDER, INPUTS, load_fleet, output_of, rendered

by_name = pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.stem)


@by_name
def test_the_manifests_are_those_that_were_agreed_on(path: Path) -> None:
    assert rendered(path) == output_of(path).read_text(encoding="utf-8")


@by_name
def test_the_yaml_says_what_was_built(path: Path) -> None:
    stored = yaml.safe_load_all(output_of(path).read_text(encoding="utf-8"))
    assert list(stored) == list(build_all(load_fleet(path)))


def test_every_output_has_its_input() -> None:
    assert {path.name for path in (FOLDER / "output").iterdir()} == {path.name for path in INPUTS}
