"""A model in a real S3 server, and the `pull` command as users call it."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from e2e.cluster import S3
from tests.store.models import BUCKET

COMMAND = [sys.executable, "-c", "from inference_fleet.cli import main; main()", "pull"]


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def result(self) -> dict[str, object]:
        assert self.status == 0, self.err
        value: dict[str, object] = json.loads(self.out)
        return value


def environment(s3: S3, changed: Mapping[str, str | None]) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    wanted: dict[str, str | None] = {**clean, **s3.environment, "PYTHONPATH": "operator", **changed}
    return {name: value for name, value in wanted.items() if value is not None}


Pull = Callable[..., Ran]
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(s3: S3) -> Iterator[Start]:
    """Start a pull; what still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(uri: str, dest: Path, *options: str, **env: str | None) -> subprocess.Popen[str]:
        command = [*COMMAND, uri, str(dest), "--output", "json", *options]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, env=environment(s3, env), stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        with process:
            process.kill()


@pytest.fixture
def pull(start: Start) -> Pull:
    def run(uri: str, dest: Path, *options: str, **env: str | None) -> Ran:
        with start(uri, dest, *options, **env) as process:
            out, err = process.communicate(timeout=60)
        return Ran(process.returncode, out, err)

    return run


@pytest.fixture
def prefix() -> str:
    return f"models/{secrets.token_hex(4)}"


@pytest.fixture
def model(s3: S3, prefix: str) -> dict[str, bytes]:
    """Three shards and a config under `prefix`."""
    files = {f"model-{shard}.safetensors": secrets.token_bytes(3 << 20) for shard in range(3)}
    files["config.json"] = b'{"model_type": "llama"}'
    s3.put(BUCKET, {f"{prefix}/{name}": data for name, data in files.items()})
    return files
