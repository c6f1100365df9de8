"""Copies in the making: who fetches, who waits, who goes on where a dead pull stopped.

A staging directory carries its journal and a flock, which the kernel drops when its holder dies, however it dies, on
this node and across containers. Who may start is settled under a flock on the cache's root, held for moments.

Nothing that is published depends on these locks: staging names are unique, a dead pull's directory is taken over by
rename(2), ranges are fetched with If-Match, and a copy is published by one rename. Where locks do nothing, pulls fetch
beside each other and the first to publish wins.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from inference_fleet.modelcache import journal
from inference_fleet.modelcache.journal import Job, Written
from inference_fleet.modelcache.layout import FOLDER_MODE, JOURNAL, PRIVATE_FOLDER, STAGING_PREFIX, staging_path

HEARTBEAT_SECONDS = 10.0
"""How often a pull touches its journal."""

ABANDONED_SECONDS = 600
"""Where a lock proves nothing, a staging directory without a write for this long is dead."""

SILENT_SECONDS = 60
"""The same for one of another boot, or node, whose lock was granted: six heartbeats."""

RESUMABLE_SECONDS = 3600
"""How long a dead pull's work is kept for a pull of the same model, while others come and go."""

_ROOT_LOCK_SECONDS = 60.0
_ROOT_LOCK_POLL_SECONDS = 0.01


class Holder(Enum):
    """Who is behind a staging directory."""

    LIVING = "living"
    DEAD = "dead"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Found:
    """A staging directory that was found. `held` is an open descriptor of it, to be closed."""

    path: Path
    held: int
    holder: Holder
    job: Job | None
    written: Written
    allocated: int
    """Bytes that it takes of the disk."""
    idle_seconds: float

    @property
    def outstanding(self) -> int:
        """Bytes that it will still take: the disk shows them as free."""
        return max(0, self.job.size - self.allocated) if self.job and self.holder is not Holder.DEAD else 0


@dataclass(frozen=True, slots=True)
class Stage:
    """This pull's own staging directory: locked through `held`, its journal open for appending."""

    path: Path
    held: int
    journal: int
    written: Written
    """What a dead pull has left in it, by its journal; not checked yet."""

    def close(self, *, keep: bool) -> None:
        """Release it; its files stay only where they are worth resuming."""
        if not keep:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.journal)
        os.close(self.held)

    def beat(self) -> None:
        """Show that this pull lives."""
        with contextlib.suppress(OSError):
            os.utime(self.journal)


def boot_id() -> str:
    """The id of this boot of the node, the same in every container on it; empty where the kernel does not tell."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


@contextlib.contextmanager
def root_lock(root: Path) -> Iterator[None]:
    """Take turns with other pulls, where locks work; after a minute without a turn go on all the same."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        deadline = time.monotonic() + _ROOT_LOCK_SECONDS
        while not lock(descriptor) and time.monotonic() < deadline:
            time.sleep(_ROOT_LOCK_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def found_in(root: Path) -> Iterator[list[Found]]:
    """All staging directories of a cache. The locks of dead ones are held meanwhile."""
    found: list[Found] = []
    try:
        for path in sorted(root.glob(f"{STAGING_PREFIX}*")):
            with contextlib.suppress(OSError):  # it went away
                found.append(_look(path))
        yield found
    finally:
        for one in found:
            os.close(one.held)


def create(dest: Path, job: Job) -> Stage:
    """A new staging directory beside `dest`."""
    while True:
        path = staging_path(dest, secrets.token_hex(8))
        path.mkdir(mode=FOLDER_MODE)
        path.chmod(FOLDER_MODE)
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        # A cleaner may have come between mkdir and the lock; then this name is lost, and another is taken.
        if lock(held) and path.is_dir():
            return _open(path, held, job, {})
        os.close(held)


def adopt(found: Found, dest: Path, job: Job) -> Stage | None:
    """Take over a dead pull's directory; None if another pull was faster.

    It gets a new name first: rename(2) lets one of several adopters win even where locks do nothing.
    """
    path = staging_path(dest, secrets.token_hex(8))
    try:
        found.path.rename(path)
    except FileNotFoundError:
        return None
    return _open(path, os.dup(found.held), job, found.written)


def remove(path: Path) -> None:
    """Remove a staging directory or whatever bears its name."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def lock(descriptor: int) -> bool:
    """Try to lock; False only if someone else holds the lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks on this file system: `_excludes` notices
    return True


def _open(path: Path, held: int, job: Job, written: Written) -> Stage:
    private = path / PRIVATE_FOLDER
    private.mkdir(mode=FOLDER_MODE, exist_ok=True)
    descriptor = os.open(path / JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
    # A dead pull's last line may be torn: the line break ends it.
    os.write(descriptor, b"\n" if os.fstat(descriptor).st_size else job.encode())
    return Stage(path, held, descriptor, written)


def _look(path: Path) -> Found:
    held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        whole = (path / JOURNAL).read_bytes() if (path / JOURNAL).is_file() else b""
        job, written = journal.read(whole) or (None, {})
        allocated, newest = _measure(path)
        idle = time.time() - newest
        return Found(path, held, _holder(path, held, job, idle), job, written, allocated, idle)
    except BaseException:
        os.close(held)
        raise


def _holder(path: Path, held: int, job: Job | None, idle_seconds: float) -> Holder:
    """Who holds a staging directory, or held it.

    A lock that was refused has a holder, who may yet be stopped for good. A lock that was granted proves a death on
    this boot of this node; on a shared file system it may be one that other nodes do not see, so a directory of
    another boot must be silent as well.
    """
    if not lock(held):
        return Holder.LIVING if idle_seconds <= ABANDONED_SECONDS else Holder.UNKNOWN
    if idle_seconds > ABANDONED_SECONDS:
        return Holder.DEAD
    local = job is None or job.boot == boot_id() or idle_seconds > SILENT_SECONDS
    return Holder.DEAD if local and _excludes(path) else Holder.UNKNOWN


def _excludes(path: Path) -> bool:
    """Whether a second lock on what this process has locked is refused, as it must be."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return not lock(descriptor)
    finally:
        os.close(descriptor)


def _measure(path: Path) -> tuple[int, float]:
    """Bytes on the disk, and the time of the newest write."""
    state = path.lstat()
    allocated, newest = 0, state.st_mtime
    for found in path.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            state = found.lstat()
            allocated += state.st_blocks * 512
            newest = max(newest, state.st_mtime)
    return allocated, newest
