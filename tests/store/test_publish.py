"""What stands at the destination: whole and right, or not there (field reports B14 and B15)."""

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from e2e.cluster import S3
from tests.store.conftest import Pull, Start
from tests.store.models import BUCKET, tree, wait_until
from tests.store.stalling import StallingProxy


@pytest.fixture
def uri(prefix: str, model: dict[str, bytes]) -> str:
    return f"s3://{BUCKET}/{prefix}"


def test_a_second_pull_finds_the_first(pull: Pull, tmp_path: Path, uri: str, model: dict[str, bytes]) -> None:
    dest = tmp_path / "cache" / "model"
    first, second = pull(uri, dest).result, pull(uri, dest).result

    assert tree(dest) == model
    assert (first["cached"], second["cached"]) == (False, True)
    assert first["digest"] == second["digest"]
    assert first["bytes"] == sum(map(len, model.values()))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in dest.rglob("*") if path.is_file()}
    assert modes == {0o644}
    assert stat.S_IMODE(dest.stat().st_mode) == 0o755


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_pull_that_is_stopped_half_way_publishes_nothing(
    s3: S3, start: Start, pull: Pull, tmp_path: Path, uri: str, model: dict[str, bytes], sign: signal.Signals
) -> None:
    dest = tmp_path / "model"
    with StallingProxy(s3.port, limit=5 << 20).running() as proxy:
        with start(uri, dest, AWS_ENDPOINT_URL=f"http://127.0.0.1:{proxy.port}") as stopped:
            wait_until(lambda: proxy.passed >= 5 << 20 and any(tmp_path.glob(".staging-*/*")))
            stopped.send_signal(sign)
            _, err = stopped.communicate(timeout=20)
        assert not dest.exists()
        assert len(list(tmp_path.iterdir())) == (1 if sign == signal.SIGKILL else 0)
        if sign == signal.SIGTERM:
            assert stopped.returncode == 143
            assert "Traceback" not in err

    assert pull(uri, dest).result["cached"] is False
    assert tree(dest) == model
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_four_pulls_at_once_publish_one_copy(start: Start, tmp_path: Path, uri: str, model: dict[str, bytes]) -> None:
    dest = tmp_path / "model"
    running = [start(uri, dest) for _ in range(4)]
    answers = [process.communicate(timeout=60) for process in running]

    assert [process.returncode for process in running] == [0] * 4, answers
    assert sum(not json.loads(out)["cached"] for out, _ in answers) == 1
    assert tree(dest) == model
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def damage_cut(dest: Path) -> None:
    shard = dest / "model-1.safetensors"
    os.truncate(shard, shard.stat().st_size - 1)


def damage_zeroed(dest: Path) -> None:
    with (dest / "model-2.safetensors").open("r+b") as file:
        file.seek(-(1 << 20), os.SEEK_END)
        file.write(bytes(1 << 20))


def damage_gone(dest: Path) -> None:
    (dest / "model-0.safetensors").unlink()


def damage_marker_empty(dest: Path) -> None:
    (dest / ".inference-fleet" / "READY").write_bytes(b"")


def damage_manifest_torn(dest: Path) -> None:
    os.truncate(dest / ".inference-fleet" / "manifest.json", 40)


def damage_no_marker(dest: Path) -> None:
    (dest / ".inference-fleet" / "READY").unlink()


def damage_plain_file(dest: Path) -> None:
    dest.rename(dest.with_name("elsewhere"))
    dest.write_text("not a directory")


@pytest.mark.parametrize(
    "damage",
    [
        damage_cut,
        damage_zeroed,
        damage_gone,
        damage_marker_empty,
        damage_manifest_torn,
        damage_no_marker,
        damage_plain_file,
    ],
)
def test_a_damaged_copy_is_fetched_again(
    pull: Pull, tmp_path: Path, uri: str, model: dict[str, bytes], damage: object
) -> None:
    dest = tmp_path / "model"
    assert pull(uri, dest).status == 0
    assert callable(damage)
    damage(dest)

    assert pull(uri, dest).result["cached"] is False
    assert tree(dest) == model


def test_other_bytes_than_the_pinned_ones_are_refused(
    s3: S3, pull: Pull, tmp_path: Path, uri: str, prefix: str
) -> None:
    dest = tmp_path / "model"
    digest = str(pull(uri, dest).result["digest"])
    s3.put(BUCKET, {f"{prefix}/config.json": b'{"model_type": "qwen3"}'})

    refused = pull(uri, tmp_path / "other", "--digest", digest)
    assert refused.status == 1
    assert "ModelChanged" in refused.err
    assert "changed since the operator read it" in refused.err
    assert not (tmp_path / "other").exists()
    assert pull(uri, dest).result["cached"] is False
    assert (dest / "config.json").read_bytes() == b'{"model_type": "qwen3"}'
