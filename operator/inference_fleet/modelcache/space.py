"""Room for a model: what is free, what other pulls have reserved, and what may be evicted."""

import contextlib
import errno
import fcntl
import os
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference_fleet.modelcache import publish, staging
from inference_fleet.modelcache.eviction import Room, Version, choose, room_needed
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.journal import Job
from inference_fleet.modelcache.layout import READY, STAGING_PREFIX, USED, staging_path
from inference_fleet.modelcache.staging import Found, Holder

NODE_NAME = "INFERENCE_FLEET_NODE_NAME"


@dataclass(frozen=True, slots=True)
class Policy:
    """What the cache may take. Without a size limit or a high watermark nothing is ever evicted."""

    size_limit: int | None = None
    high: float | None = None
    low: float | None = None
    keep_seconds: float = 86_400.0
    """A version that a pull has asked for within this time is never evicted."""

    @property
    def evicts(self) -> bool:
        """Whether models may be evicted at all."""
        return self.size_limit is not None or self.high is not None


KEEP_ALL = Policy()


@dataclass(frozen=True, slots=True)
class Evicted:
    """What has been evicted."""

    versions: int = 0
    bytes: int = 0


def make_room(dest: Path, job: Job, resumed: Found | None, found: Sequence[Found], policy: Policy) -> Evicted:
    """See to it that the job's bytes fit beside what other pulls have reserved. Called under the cache's lock.

    Raises:
        ModelError: NoSpace, with the node and the bytes that are missing; then nothing has been evicted.
    """
    need = max(0, job.size - (resumed.allocated if resumed else 0))
    others = [one for one in found if one is not resumed]
    if _room(dest, job, need, others, policy).must:
        for one in others:
            if one.holder is Holder.DEAD:
                staging.remove(one.path)
        others = [one for one in others if one.holder is not Holder.DEAD]
    room = _room(dest, job, need, others, policy)
    if not room.must:
        return Evicted()
    versions = choose(_evictable(dest, policy), room, policy.keep_seconds) if policy.evicts else []
    if not versions:
        raise _no_space(dest.parent, job, need, others, room)
    gone = [one for one in versions if _evict(dest.parent / one.name, policy.keep_seconds)]
    room = _room(dest, job, need, others, policy)
    if room.must:
        raise _no_space(dest.parent, job, need, others, room)
    return Evicted(len(gone), sum(one.bytes for one in gone))


def _room(dest: Path, job: Job, need: int, others: Sequence[Found], policy: Policy) -> Room:
    disk = os.statvfs(dest.parent)
    free = disk.f_bavail * disk.f_frsize - sum(one.outstanding for one in others)
    if not policy.evicts:
        return room_needed(need, free)
    staged = sum(one.job.size for one in others if one.job)
    return room_needed(
        need,
        free,
        capacity=disk.f_blocks * disk.f_frsize,
        cached=job.size + staged + sum(one.bytes for one in _versions(dest)),
        size_limit=policy.size_limit,
        high=policy.high,
        low=policy.low,
    )


def _versions(dest: Path) -> list[Version]:
    """The published copies beside `dest`."""
    versions = []
    for path in dest.parent.iterdir():
        if path != dest and not path.name.startswith(STAGING_PREFIX) and not path.is_symlink():
            manifest = publish.read_manifest(path)
            idle = _idle_seconds(path) if manifest else None
            if manifest is not None and idle is not None:
                versions.append(Version(path.name, manifest.size, manifest.seconds, idle))
    return versions


def _evictable(dest: Path, policy: Policy) -> list[Version]:
    """Those that nobody has asked for lately and that no process has open."""
    idle = [one for one in _versions(dest) if one.idle_seconds > policy.keep_seconds]
    return [one for one in idle if not _is_open(dest.parent / one.name)]


def _idle_seconds(path: Path) -> float | None:
    """Seconds since a pull asked for a copy."""
    for mark in (USED, READY):
        with contextlib.suppress(OSError):
            return time.time() - (path / mark).stat().st_mtime
    return None


def _evict(path: Path, keep_seconds: float) -> bool:
    """Move a copy aside and remove it, unless a pull has asked for it meanwhile."""
    aside = staging_path(path, secrets.token_hex(8))
    with contextlib.suppress(FileNotFoundError):
        path.rename(aside)
        idle = _idle_seconds(aside)
        if idle is not None and idle <= keep_seconds:
            with contextlib.suppress(OSError):  # another copy stands there by now
                aside.rename(path)
                return False
        staging.remove(aside)
        return True
    return False


def _is_open(path: Path) -> bool:
    """Whether any process on this node has a file of the copy open, an engine that loads it for example.

    A write lease is granted only to the sole opener of a file (fcntl(2), F_SETLEASE), across all containers of the
    node. File systems without leases answer otherwise and prove nothing.
    """
    manifest = publish.read_manifest(path)
    for file in manifest.files if manifest else ():
        try:
            descriptor = os.open(path / file.name, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return True
        finally:
            os.close(descriptor)
    return False


def _no_space(root: Path, job: Job, need: int, others: Sequence[Found], room: Room) -> ModelError:
    disk = os.statvfs(root)
    free = disk.f_bavail * disk.f_frsize
    reserved = sum(one.outstanding for one in others)
    node = os.environ.get(NODE_NAME) or socket.gethostname()
    held = f", of which other pulls have reserved {reserved:,}" if reserved else ""
    return ModelError(
        Failure.NO_SPACE,
        f"The model needs {need:,} bytes and the cache {str(root)!r} on node {node!r} has {free:,} free{held}: "
        f"{room.must:,} are missing.",
    )
