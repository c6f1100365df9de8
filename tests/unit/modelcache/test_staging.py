"""Who lives, who is dead, who waits for whom."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from inference_fleet.modelcache import check, journal, staging
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.journal import Job
from inference_fleet.modelcache.keys import LocalLocation
from inference_fleet.modelcache.pull import Pulled, pull_model
from inference_fleet.modelcache.ranges import Range
from inference_fleet.modelcache.staging import Holder
from inference_fleet.modelcache.store import list_model, open_store
from inference_fleet.modelcache.transfer import Progress

JOB = Job("m", "s3://models/m", "sha256:ab", 1 << 20, staging.boot_id())


@pytest.fixture
def source(tmp_path: Path) -> LocalLocation:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "m.safetensors").write_bytes(os.urandom(5000))
    return LocalLocation(str(folder))


def holder(root: Path) -> Holder:
    with staging.found_in(root) as found:
        return found[0].holder


def age(path: Path, seconds: float) -> None:
    past = time.time() - seconds
    for part in (*path.rglob("*"), path):
        os.utime(part, (past, past))


def test_the_lock_tells_the_living_from_the_dead(tmp_path: Path) -> None:
    stage = staging.create(tmp_path / "m", JOB)
    assert holder(tmp_path) is Holder.LIVING
    stage.close(keep=True)
    assert holder(tmp_path) is Holder.DEAD


def test_a_holder_without_a_heartbeat_is_not_waited_for(tmp_path: Path) -> None:
    stage = staging.create(tmp_path / "m", JOB)
    age(stage.path, 2 * staging.ABANDONED_SECONDS)
    assert holder(tmp_path) is Holder.UNKNOWN
    stage.beat()
    assert holder(tmp_path) is Holder.LIVING
    stage.close(keep=False)
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_another_boot_may_be_one_that_this_node_does_not_see(tmp_path: Path) -> None:
    stage = staging.create(tmp_path / "m", replace(JOB, boot="another"))
    stage.close(keep=True)
    assert holder(tmp_path) is Holder.UNKNOWN
    age(stage.path, 2 * staging.SILENT_SECONDS)
    assert holder(tmp_path) is Holder.DEAD


def test_of_two_that_take_over_one_wins(tmp_path: Path) -> None:
    staging.create(tmp_path / "m", JOB).close(keep=True)
    with staging.found_in(tmp_path) as found:
        first, second = (staging.adopt(found[0], tmp_path / "m", JOB) for _ in range(2))
    assert second is None
    assert first
    first.close(keep=False)


def test_a_pull_that_waits_shows_the_progress_of_the_other(source: LocalLocation, tmp_path: Path) -> None:
    dest = tmp_path / "cache" / "m"
    dest.parent.mkdir()
    shown: list[int] = []

    def begin(total: int) -> Progress:
        assert total == 5002
        return shown.append

    async def wait() -> Pulled:
        store = open_store(source, None)
        listing = await list_model(store, source)
        other = staging.create(dest, Job("m", f"{source} at None", listing.digest, 8192, staging.boot_id()))
        waiting = asyncio.create_task(pull_model(store, source, dest, None, begin))
        try:
            os.write(other.journal, journal.entry(Range(1, 0, 0, 5000), 1))
            deadline = time.monotonic() + 20
            while not shown:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.01)
            assert shown == [5000]
            assert not waiting.done()
        finally:
            other.close(keep=False)
        return await waiting

    pulled = asyncio.run(wait())
    assert (pulled.cached, pulled.fetched) == (False, 5002)


def test_a_disk_that_does_not_keep_what_is_written(
    source: LocalLocation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "checksum_of", lambda path, start, length: 0)
    with pytest.raises(ModelError, match="does not keep what is written") as caught:
        asyncio.run(
            pull_model(open_store(source, None), source, tmp_path / "m", None, lambda _: lambda _: None, verify=True)
        )
    assert caught.value.failure is Failure.CACHE_FAILED
