"""The cache on the disk: judge a copy, stage one, publish it by one rename, clear what dead pulls left.

Correctness rests on unique staging names and on rename(2), never on a lock: many pulls of one model may run at once
and the first to publish wins. The one lock here, flock on a staging directory, only tells the living from the dead.
"""

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from inference_fleet.modelcache.layout import (
    FOLDER_MODE,
    MANIFEST,
    PRIVATE_FOLDER,
    READY,
    STAGING_PREFIX,
    CachedFile,
    Manifest,
    ready_marker,
    staging_path,
)
from inference_fleet.modelcache.listing import ModelFile

ABANDONED_SECONDS = 3600
"""Where locks do not work (some network file systems), a staging directory without a write for this long is dead."""

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


def read_ready(dest: Path) -> Manifest | None:
    """The manifest of a published copy whose files are untouched; None where there is no such copy.

    Every file's size and modification time are compared (one stat each, milliseconds for a model), which shows a file
    that was cut or written over in place; the bytes are not read.
    """
    try:
        data = (dest / MANIFEST).read_bytes()
        if (dest / READY).read_bytes() != ready_marker(data):
            return None
        manifest = Manifest.decode(data)
        for file in manifest.files:
            found = (dest / file.name).stat()
            if (found.st_size, found.st_mtime_ns) != (file.size, file.mtime_ns):
                return None
    except (OSError, ValueError):
        return None
    return manifest


def holds(dest: Path, digest: str) -> Manifest | None:
    """The manifest, if a whole copy of exactly this digest is published at `dest`."""
    manifest = read_ready(dest)
    return manifest if manifest and manifest.digest == digest else None


@contextlib.contextmanager
def staging(dest: Path) -> Iterator[Path]:
    """A new private directory beside `dest`, removed at the end unless it was published."""
    dest.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    path, held = _create_staging(dest)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(held)


def _create_staging(dest: Path) -> tuple[Path, int]:
    while True:
        path = staging_path(dest, secrets.token_hex(8))
        path.mkdir(mode=FOLDER_MODE)
        path.chmod(FOLDER_MODE)
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        # A cleaner may have come between mkdir and the lock; then this name is lost, and another is taken.
        if _lock(held) and path.is_dir():
            return path, held
        os.close(held)


def seal(stage: Path, uri: str, digest: str, files: tuple[ModelFile, ...]) -> Manifest:
    """Write manifest and marker over files that are all written and synced.

    Raises:
        OSError: a file is missing or the disk fails.
    """
    cached = []
    for file in files:
        found = (stage / file.name).stat()
        if found.st_size != file.size:
            raise OSError(errno.EIO, f"{file.name} has {found.st_size} bytes, not {file.size}")
        cached.append(CachedFile(file.name, file.size, file.etag, found.st_mtime_ns))
    manifest = Manifest(uri, digest, tuple(cached))
    private = stage / PRIVATE_FOLDER
    private.mkdir(exist_ok=True)
    for folder in {stage / parent for file in files for parent in Path(file.name).parents} | {private}:
        folder.chmod(FOLDER_MODE)
        _sync_folder(folder)
    _write_synced(stage / MANIFEST, manifest.encode())
    _write_synced(stage / READY, ready_marker(manifest.encode()))
    _sync_folder(private)
    _sync_folder(stage)
    return manifest


def publish(stage: Path, dest: Path, digest: str) -> bool:
    """Move a sealed copy to `dest` by one rename; False if another pull has published the same model meanwhile."""
    while True:
        try:
            stage.rename(dest)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
            if holds(dest, digest):
                return False
            displace(dest, keep=digest)
        else:
            _sync_folder(dest.parent)
            return True


def displace(dest: Path, keep: str | None = None) -> None:
    """Remove what stands at `dest`: a file, a link, a directory that is no whole copy or one of another digest.

    It is moved aside first and judged again there, since another pull may have published between the look and the
    move: a whole copy of the digest `keep` (of any digest, if None) goes back to its place. Whoever has files of a
    removed copy open keeps them.
    """
    aside = staging_path(dest, secrets.token_hex(8))
    try:
        held = os.open(dest, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        held = None  # gone, a link, or not readable: it is moved all the same
    try:
        if held is not None:
            _lock(held)
        try:
            dest.rename(aside)
        except FileNotFoundError:
            return
        if holds(aside, keep) if keep else read_ready(aside):
            with contextlib.suppress(OSError):  # another copy stands there by now
                aside.rename(dest)
                return
        _remove(aside)
    finally:
        if held is not None:
            os.close(held)


def remove_stale(root: Path) -> list[str]:
    """Remove the staging directories of pulls that died; the names removed.

    The kernel drops a flock when its holder dies, however it dies, on this node and across containers.
    """
    removed: list[str] = []
    candidates = sorted(root.glob(f"{STAGING_PREFIX}*")) if root.is_dir() else []
    for path in candidates:
        try:
            held = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            if _lock(held) and (_locks_exclude(path) or _idle_seconds(path) > ABANDONED_SECONDS):
                _remove(path)
                removed.append(path.name)
        finally:
            os.close(held)
    return removed


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks on this file system: `_locks_exclude` notices
    return True


def _locks_exclude(path: Path) -> bool:
    """Whether a second lock on a directory that this process has locked is refused, as it must be."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return not _lock(descriptor)
    finally:
        os.close(descriptor)


def _idle_seconds(path: Path) -> float:
    newest = path.lstat().st_mtime
    for found in path.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            newest = max(newest, found.lstat().st_mtime)
    return time.time() - newest


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        os.fchmod(file.fileno(), 0o644)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
