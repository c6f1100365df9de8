"""Whole pulls out of a folder: what needs no S3 server."""

import asyncio
import fcntl
import os
import threading
import time
from collections import namedtuple
from pathlib import Path

import pytest

from inference_fleet.modelcache import publish, staging
from inference_fleet.modelcache.disk import on_disk
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.journal import Job
from inference_fleet.modelcache.keys import LocalLocation
from inference_fleet.modelcache.pull import Pulled, pull_model
from inference_fleet.modelcache.store import open_store
from inference_fleet.modelcache.transfer import Progress

WEIGHTS = bytes(range(256)) * 4096


@pytest.fixture
def source(tmp_path: Path) -> LocalLocation:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    for shard in range(3):
        (folder / f"{shard}.safetensors").write_bytes(WEIGHTS)
    return LocalLocation(str(folder))


async def pull(source: LocalLocation, dest: Path, digest: str | None = None) -> Pulled:
    return await pull_model(open_store(source, None), source, dest, digest, uncounted)


def uncounted(total: int) -> Progress:
    return lambda written: None


def assert_whole(dest: Path) -> None:
    assert sorted(path.name for path in dest.iterdir()) == [
        ".inference-fleet",
        "0.safetensors",
        "1.safetensors",
        "2.safetensors",
        "config.json",
    ]
    assert all((dest / f"{shard}.safetensors").read_bytes() == WEIGHTS for shard in range(3))


def test_every_byte_is_counted_once(source: LocalLocation, tmp_path: Path) -> None:
    counted: list[int] = []

    def begin(total: int) -> Progress:
        assert total == 3 * len(WEIGHTS) + 2
        return counted.append

    asyncio.run(pull_model(open_store(source, None), source, tmp_path / "cache" / "m", None, begin))
    assert sum(counted) == 3 * len(WEIGHTS) + 2


def test_many_pulls_at_once_are_right_even_where_locks_do_nothing(
    source: LocalLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    dest = tmp_path / "cache" / "m"

    async def four() -> list[Pulled]:
        return await asyncio.gather(*(pull(source, dest) for _ in range(4)))

    answers = asyncio.run(four())
    assert sum(not answer.cached for answer in answers) == 1
    assert_whole(dest)
    assert [path.name for path in dest.parent.iterdir()] == ["m"]


def test_a_model_larger_than_the_disk_is_refused_before_a_byte_is_fetched(
    source: LocalLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = namedtuple("disk", "f_bavail f_frsize")
    monkeypatch.setattr(os, "statvfs", lambda path: disk(700, 4096))

    with pytest.raises(ModelError) as caught:
        asyncio.run(pull(source, tmp_path / "cache" / "m"))
    assert caught.value.failure is Failure.NO_SPACE
    assert "needs 3,149,824 bytes" in caught.value.message
    assert "282,624 are missing" in caught.value.message
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_disk_that_fills_up_is_told_and_leaves_nothing(
    source: LocalLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(ModelError, match="No space left on device") as caught:
        asyncio.run(pull(source, tmp_path / "cache" / "m"))
    assert caught.value.failure is Failure.NO_SPACE
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_version_replaces_the_old_one(source: LocalLocation, tmp_path: Path) -> None:
    dest = tmp_path / "cache" / "m"
    old = asyncio.run(pull(source, dest))
    (Path(source.path) / "config.json").write_text('{"new": 1}')

    with pytest.raises(ModelError, match="changed since the operator read it"):
        asyncio.run(pull(source, dest, old.digest))
    assert publish.holds(dest, old.digest), "a refused pull leaves the old copy"
    assert not asyncio.run(pull(source, dest)).cached
    assert (dest / "config.json").read_text() == '{"new": 1}'


def job(source: LocalLocation, dest: Path, digest: str = "sha256:other") -> Job:
    return Job(dest.name, f"{source} at None", digest, 1 << 20, staging.boot_id())


def test_staging_of_the_living_stays_and_of_the_dead_goes(source: LocalLocation, tmp_path: Path) -> None:
    dest = tmp_path / "cache" / "m"
    dead = dest.parent / ".staging-dead"
    dead.mkdir(parents=True)
    (dead / "half.safetensors").write_bytes(b"half")
    living = staging.create(dest, job(source, dest))
    asyncio.run(pull(source, dest))
    assert sorted(dest.parent.iterdir()) == [living.path, dest]
    living.close(keep=True)
    asyncio.run(pull(source, dest))
    assert list(dest.parent.iterdir()) == [dest]


def test_where_locks_do_nothing_only_long_idle_staging_goes(
    source: LocalLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda descriptor, operation: None)
    dest = tmp_path / "cache" / "m"
    fresh, idle = dest.parent / ".staging-fresh", dest.parent / ".staging-idle"
    past = time.time() - 2 * staging.ABANDONED_SECONDS
    for folder in (fresh, idle):
        (folder / "sub").mkdir(parents=True)
        os.utime(folder, (past, past))
    os.utime(idle / "sub", (past, past))

    asyncio.run(pull(source, dest))
    assert sorted(dest.parent.iterdir()) == [fresh, dest]


def test_a_copy_published_between_look_and_move_goes_back(source: LocalLocation, tmp_path: Path) -> None:
    dest = tmp_path / "cache" / "m"
    pulled = asyncio.run(pull(source, dest))

    publish.displace(dest)  # its caller has seen no whole copy a moment ago
    publish.displace(dest, keep=pulled.digest)
    assert_whole(dest)
    publish.displace(dest, keep="sha256:another")
    assert list(dest.parent.iterdir()) == []


def test_a_cache_that_may_not_be_written(
    source: LocalLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ModelError, match="Permission denied") as caught:
        asyncio.run(pull(source, tmp_path / "cache" / "m"))
    assert caught.value.failure is Failure.CACHE_NOT_WRITABLE


def test_a_stopped_pull_first_waits_for_what_its_thread_writes() -> None:
    started, finish = threading.Event(), threading.Event()
    written: list[str] = []

    def write() -> None:
        started.set()
        finish.wait(10)
        written.append("all")

    async def stop_in_mid_write() -> None:
        pulling = asyncio.create_task(on_disk(write))
        await asyncio.to_thread(started.wait, 10)
        pulling.cancel()
        asyncio.get_running_loop().call_later(0.05, finish.set)
        with pytest.raises(asyncio.CancelledError):
            await pulling
        assert written == ["all"]

    asyncio.run(stop_in_mid_write())
