"""The script that gives a node's cache directory to the engine pods' user, run as the DaemonSet runs it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chart.conftest import Render, kind

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a directory away")


@pytest.fixture
def script(render: Render) -> str:
    (daemon_set,) = kind(render(), "DaemonSet")
    (prepare,) = daemon_set["spec"]["template"]["spec"]["initContainers"]
    assert prepare["command"][:3] == ["python", "-I", "-c"]
    assert prepare["command"][4:] == ["/cache", "10001", "10001"]
    found: str = prepare["command"][3]
    return found


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    directory = tmp_path / "cache"
    directory.mkdir()
    return directory


def prepare(script: str, directory: Path, owner: int) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", "-c", script, str(directory), str(owner), str(owner)]
    return subprocess.run(command, text=True, capture_output=True, check=False, timeout=30)


def owner_and_mode(directory: Path) -> tuple[int, int, int]:
    found = directory.stat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


@as_root
def test_an_empty_directory_is_given_to_the_engines(script: str, cache: Path) -> None:
    cache.chmod(0o700)
    assert prepare(script, cache, 10001).returncode == 0
    assert owner_and_mode(cache) == (10001, 10001, 0o755)


@as_root
def test_a_second_run_keeps_the_models(script: str, cache: Path) -> None:
    assert prepare(script, cache, 10001).returncode == 0
    (cache / "model").write_text("weights")
    cache.chmod(0o700)
    assert prepare(script, cache, 10001).returncode == 0
    assert owner_and_mode(cache) == (10001, 10001, 0o755)
    assert (cache / "model").read_text() == "weights"


def test_somebody_elses_files_are_not_handed_over(script: str, cache: Path) -> None:
    (cache / "shadow").write_text("theirs")
    before = owner_and_mode(cache)
    done = prepare(script, cache, os.geteuid() + 1)
    assert done.returncode == 1
    assert "is not empty: give nodeCache.path a directory of its own" in done.stderr
    assert owner_and_mode(cache) == before
