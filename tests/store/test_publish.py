"""What stands at the destination: whole and right, or not there (field reports B14 and B15)."""

import contextlib
import json
import os
import secrets
import signal
import stat
import subprocess
from collections.abc import Iterator
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
        assert len(list(tmp_path.iterdir())) == 1
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
    results = [json.loads(out) for out, _ in answers]
    assert sum(not result["cached"] for result in results) == 1
    assert sum(result["fetchedBytes"] for result in results) == sum(map(len, model.values()))
    assert tree(dest) == model
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.fixture
def shards(s3: S3, prefix: str) -> dict[str, bytes]:
    """More files than connections, so that some are whole when half of the bytes have come."""
    files = {f"model-{shard:02}.safetensors": secrets.token_bytes(256 << 10) for shard in range(48)}
    files["config.json"] = b'{"model_type": "llama"}'
    s3.put(BUCKET, {f"{prefix}/shards/{name}": data for name, data in files.items()})
    return files


@pytest.fixture
def shards_uri(prefix: str) -> str:
    return f"s3://{BUCKET}/{prefix}/shards"


@contextlib.contextmanager
def stalled(s3: S3, start: Start, uri: str, dest: Path) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A pull that stands still with half of the bytes, some ranges written down; and its store, open again."""
    with StallingProxy(s3.port, limit=6 << 20).running() as proxy:
        endpoint = f"http://127.0.0.1:{proxy.port}"
        pulling = start(uri, dest, AWS_ENDPOINT_URL=endpoint)
        wait_until(lambda: proxy.passed >= 6 << 20 and journal_lines(dest.parent) > 2)
        proxy.open()
        yield pulling, endpoint


def journal_lines(root: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in root.glob(".staging-*/.inference-fleet/journal"))


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.wait()


def test_a_killed_pull_is_resumed(
    s3: S3, start: Start, pull: Pull, tmp_path: Path, shards_uri: str, shards: dict[str, bytes]
) -> None:
    dest = tmp_path / "model"
    with stalled(s3, start, shards_uri, dest) as (killed, endpoint):
        kill(killed)
        result = pull(shards_uri, dest, AWS_ENDPOINT_URL=endpoint).result

    assert tree(dest) == shards
    assert int(str(result["resumedBytes"])) >= 256 << 10
    assert int(str(result["resumedBytes"])) + int(str(result["fetchedBytes"])) == result["bytes"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_a_killed_pull_has_left_is_checked(
    s3: S3, start: Start, pull: Pull, tmp_path: Path, shards_uri: str, shards: dict[str, bytes]
) -> None:
    dest = tmp_path / "model"
    with stalled(s3, start, shards_uri, dest) as (killed, endpoint):
        kill(killed)
        for shard in tmp_path.glob(".staging-*/*.safetensors"):
            shard.write_bytes(bytes(shard.stat().st_size))  # a power cut leaves the right length of other bytes
        result = pull(shards_uri, dest, AWS_ENDPOINT_URL=endpoint).result

    assert int(str(result["resumedBytes"])) < 256 << 10
    assert tree(dest) == shards


def test_pulls_that_wait_take_over_from_a_killed_one(
    s3: S3, start: Start, tmp_path: Path, shards_uri: str, shards: dict[str, bytes]
) -> None:
    dest = tmp_path / "model"
    with stalled(s3, start, shards_uri, dest) as (holder, endpoint):
        waiting = [start(shards_uri, dest, AWS_ENDPOINT_URL=endpoint) for _ in range(3)]
        with pytest.raises(subprocess.TimeoutExpired):
            waiting[0].wait(timeout=1.5)
        kill(holder)
        answers = [json.loads(process.communicate(timeout=60)[0]) for process in waiting]

    assert sorted(answer["cached"] for answer in answers) == [False, True, True]
    assert sum(answer["fetchedBytes"] for answer in answers) < sum(map(len, shards.values()))
    assert tree(dest) == shards
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("damage", ["flipped", "zeroed"])
def test_a_full_check_finds_what_size_and_time_hide(
    pull: Pull, tmp_path: Path, uri: str, model: dict[str, bytes], damage: str
) -> None:
    dest = tmp_path / "model"
    assert pull(uri, dest).result["cached"] is False
    shard = dest / "model-1.safetensors"
    state = shard.stat()
    with shard.open("r+b") as file:
        file.seek(-4096, os.SEEK_END)
        file.write(bytes(4096) if damage == "zeroed" else bytes([model[shard.name][-4096] ^ 1]))
    os.utime(shard, ns=(state.st_atime_ns, state.st_mtime_ns))

    assert pull(uri, dest).result["cacheHit"] is True
    assert pull(uri, dest, "--verify").result["cached"] is False
    assert tree(dest) == model
    assert pull(uri, dest, "--verify").result["cacheHit"] is True


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
