"""The published copies: judge one, seal a staged one, publish it by one rename, move one aside.

Correctness rests on unique names and on rename(2), never on a lock: many pulls of one model may run at once and the
first to publish wins.
"""

import contextlib
import errno
import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from inference_fleet.modelcache.layout import (
    FILE_MODE,
    FOLDER_MODE,
    JOURNAL,
    MANIFEST,
    PRIVATE_FOLDER,
    READY,
    USED,
    CachedFile,
    Manifest,
    ready_marker,
    staging_path,
)
from inference_fleet.modelcache.listing import ModelFile
from inference_fleet.modelcache.staging import lock, remove

_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


def read_ready(dest: Path) -> Manifest | None:
    """The manifest of a published copy whose files are untouched; None where there is no such copy.

    Every file's size and modification time are compared (one stat each, milliseconds for a model), which shows a file
    that was cut or written over in place; the bytes are not read.
    """
    manifest = read_manifest(dest)
    try:
        for file in manifest.files if manifest else ():
            found = (dest / file.name).stat()
            if (found.st_size, found.st_mtime_ns) != (file.size, file.mtime_ns):
                return None
    except OSError:
        return None
    return manifest


def read_manifest(dest: Path) -> Manifest | None:
    """The manifest of a copy that was published, whatever has become of its files since."""
    try:
        data = (dest / MANIFEST).read_bytes()
        return Manifest.decode(data) if (dest / READY).read_bytes() == ready_marker(data) else None
    except (OSError, ValueError):
        return None


def holds(dest: Path, digest: str) -> Manifest | None:
    """The manifest, if a whole copy of exactly this digest is published at `dest`."""
    manifest = read_ready(dest)
    return manifest if manifest and manifest.digest == digest else None


def mark_used(dest: Path) -> None:
    """Tell evictions that a pod needs this copy now. A cache that may only be read is not evicted from either."""
    with contextlib.suppress(OSError):
        descriptor = os.open(dest / USED, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, FILE_MODE)
        try:
            os.utime(descriptor)
        finally:
            os.close(descriptor)


def unmark(dest: Path) -> None:
    """Take the marker off a copy whose bytes are wrong: from here on it is none."""
    (dest / READY).unlink(missing_ok=True)


def seal(
    stage: Path,
    uri: str,
    digest: str,
    files: Sequence[ModelFile],
    checksums: Sequence[tuple[int, ...]],
    seconds: float,
) -> Manifest:
    """Write manifest and marker over files that are all written and synced.

    Raises:
        OSError: a file is missing or the disk fails.
    """
    cached = []
    for file, sums in zip(files, checksums, strict=True):
        found = (stage / file.name).stat()
        if found.st_size != file.size:
            raise OSError(errno.EIO, f"{file.name} has {found.st_size} bytes, not {file.size}")
        cached.append(CachedFile(file.name, file.size, file.etag, found.st_mtime_ns, sums))
    manifest = Manifest(uri, digest, tuple(cached), seconds)
    private = stage / PRIVATE_FOLDER
    private.mkdir(exist_ok=True)
    mark_used(stage)
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
            drop_journal(dest)
            return True


def drop_journal(dest: Path) -> None:
    """Remove the journal of a copy that is published; until then it lets a killed pull be resumed."""
    with contextlib.suppress(OSError):
        (dest / JOURNAL).unlink(missing_ok=True)


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
            lock(held)
        try:
            dest.rename(aside)
        except FileNotFoundError:
            return
        if holds(aside, keep) if keep else read_ready(aside):
            with contextlib.suppress(OSError):  # another copy stands there by now
                aside.rename(dest)
                return
        remove(aside)
    finally:
        if held is not None:
            os.close(held)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        os.fchmod(file.fileno(), FILE_MODE)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
