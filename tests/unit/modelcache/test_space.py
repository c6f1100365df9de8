"""Room in a cache: reservations, evictions, and what is never evicted."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from inference_fleet.modelcache import publish, staging
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.journal import Job
from inference_fleet.modelcache.keys import LocalLocation
from inference_fleet.modelcache.layout import USED
from inference_fleet.modelcache.pull import Pulled, pull_model
from inference_fleet.modelcache.space import KEEP_ALL, Policy
from inference_fleet.modelcache.store import open_store

MIB = 1 << 20
HOUR = 3600.0


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Three models of 1 MiB, last asked for days, months and decades ago, and something that is no model."""
    root = tmp_path / "cache"
    for name, days in {"new": 1, "old": 100, "older": 10_000}.items():
        pull(tmp_path, root, name)
        past = time.time() - days * 24 * HOUR
        os.utime(root / name / USED, (past, past))
    (root / "mine").mkdir()
    (root / "mine" / "notes.txt").write_text("keep")
    return root


def pull(tmp_path: Path, root: Path, name: str, policy: Policy = KEEP_ALL, size: int = MIB) -> Pulled:
    source = tmp_path / f"source-{name}"
    source.mkdir(exist_ok=True)
    (source / "config.json").write_text("{}")
    (source / "m.safetensors").write_bytes(os.urandom(size - 2))
    where = LocalLocation(str(source))
    return asyncio.run(pull_model(open_store(where, None), where, root / name, None, lambda _: lambda _: None, policy))


def names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()}


def test_without_a_policy_nothing_is_evicted(tmp_path: Path, cache: Path) -> None:
    assert pull(tmp_path, cache, "next").evicted.versions == 0
    assert names(cache) == {"new", "old", "older", "next", "mine"}


def test_beyond_the_size_limit_the_least_recently_used_goes(tmp_path: Path, cache: Path) -> None:
    pulled = pull(tmp_path, cache, "next", Policy(size_limit=3 * MIB + 8192, keep_seconds=HOUR))

    assert (pulled.evicted.versions, pulled.evicted.bytes) == (1, MIB)
    assert names(cache) == {"new", "old", "next", "mine"}


def test_what_was_asked_for_lately_is_kept_and_the_pull_is_refused(tmp_path: Path, cache: Path) -> None:
    with pytest.raises(ModelError) as caught:
        pull(tmp_path, cache, "next", Policy(size_limit=MIB, keep_seconds=36 * HOUR))

    assert caught.value.failure is Failure.NO_SPACE
    assert "are missing" in caught.value.message
    assert names(cache) == {"new", "old", "older", "mine"}, "evicting two of three would not have been enough"


def test_a_hit_counts_as_use(tmp_path: Path, cache: Path) -> None:
    source = LocalLocation(str(tmp_path / "source-older"))
    store = open_store(source, None)
    assert asyncio.run(pull_model(store, source, cache / "older", None, lambda _: lambda _: None)).cache_hit
    pull(tmp_path, cache, "next", Policy(size_limit=3 * MIB + 8192, keep_seconds=HOUR))

    assert names(cache) == {"new", "older", "next", "mine"}


def test_a_model_that_an_engine_is_loading_is_kept(tmp_path: Path, cache: Path) -> None:
    with (cache / "older" / "m.safetensors").open("rb"):
        pull(tmp_path, cache, "next", Policy(size_limit=3 * MIB + 8192, keep_seconds=HOUR))

    assert names(cache) == {"new", "older", "next", "mine"}


def test_asked_for_between_look_and_move(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = Path.rename

    def rename(self: Path, target: Path) -> Path:
        if self == cache / "older":
            publish.mark_used(self)
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(ModelError, match="are missing"):
        pull(tmp_path, cache, "next", Policy(size_limit=3 * MIB + 8192, keep_seconds=HOUR))
    assert names(cache) == {"new", "old", "older", "mine"}
    assert publish.read_ready(cache / "older")


def test_the_bytes_that_other_pulls_will_take_are_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "cache"
    root.mkdir()
    monkeypatch.setenv("INFERENCE_FLEET_NODE_NAME", "gpu-7")
    disk = os.statvfs(root)
    other = Job("other", "s3://models/other", "sha256:ab", disk.f_bavail * disk.f_frsize, staging.boot_id())
    stage = staging.create(root / "other", other)
    try:
        with pytest.raises(ModelError, match="other pulls have reserved") as caught:
            pull(tmp_path, root, "next")
        assert "on node 'gpu-7'" in caught.value.message
    finally:
        stage.close(keep=False)
    assert not pull(tmp_path, root, "next").cached


def test_what_dead_pulls_left_goes_before_a_model_does(tmp_path: Path, cache: Path) -> None:
    job = Job("dead", "s3://models/dead", "sha256:ab", 4 * MIB, staging.boot_id())
    dead = staging.create(cache / "dead", job)
    os.write(dead.journal, b"0 0 1\n")
    dead.close(keep=True)
    pull(tmp_path, cache, "next")
    assert dead.path.exists(), "it may be resumed"

    assert pull(tmp_path, cache, "more", Policy(size_limit=5 * MIB + 8192)).evicted.versions == 0
    assert names(cache) == {"new", "old", "older", "mine", "next", "more"}
