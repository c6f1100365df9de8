"""Bytes to the disk and back: preallocated files, writes past the page cache, checksums."""

import asyncio
import ctypes
import errno
import mmap
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from inference_fleet.modelcache.layout import FILE_MODE, FOLDER_MODE

P = ParamSpec("P")
T = TypeVar("T")

BUFFER_BYTES = 4 << 20
_BLOCK = 4096
_READ_BYTES = 1 << 20
_NOT_SUPPORTED = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


async def on_disk(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run blocking work in a thread; a cancelled caller first waits for its end.

    A thread cannot be stopped: left alone, it would write to a file number that is closed and perhaps given anew, or
    into a directory that is being removed.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        raise


def allocate(path: Path, size: int) -> None:
    """Make a file of this size whose blocks are taken already, or keep one that is there.

    The system call and not `os.posix_fallocate`: where a file system cannot do it, glibc writes a byte to every block,
    which takes an hour on a network. There the file is sparse instead.
    """
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, FILE_MODE)
    try:
        if os.fstat(descriptor).st_size != size:
            os.ftruncate(descriptor, size)
        if size and _LIBC.fallocate(descriptor, 0, 0, size) != 0:
            code = ctypes.get_errno()
            if code not in _NOT_SUPPORTED:
                raise OSError(code, os.strerror(code))
    finally:
        os.close(descriptor)


def aligned_buffer() -> memoryview:
    """Page-aligned memory for direct writes, to be used for range after range; freed with its last view."""
    return memoryview(mmap.mmap(-1, BUFFER_BYTES))


class RangeWriter:
    """Writes one range of a file and takes its checksum. Blocking; one user at a time.

    Writes bypass the page cache (O_DIRECT) where the file system allows it: a container's page cache is bounded by its
    memory limit, so that buffered writes of a model soon wait for each other's write-back, and push out what others
    on the node have cached.
    """

    def __init__(self, path: Path, start: int, buffer: memoryview) -> None:
        self._path = path
        self._at = start
        self._buffer = buffer
        self._filled = 0
        self.checksum = 0
        flags = os.O_WRONLY | os.O_NOFOLLOW
        self._direct = True
        try:
            self._descriptor = os.open(path, flags | os.O_DIRECT)
        except OSError as error:
            if error.errno not in _NOT_SUPPORTED:
                raise
            self._descriptor = os.open(path, flags)
            self._direct = False

    def write(self, chunk: memoryview) -> None:
        """Take these bytes; they are on the disk after `finish`."""
        self.checksum = zlib.crc32(chunk, self.checksum)
        while chunk:
            room = min(len(chunk), BUFFER_BYTES - self._filled)
            self._buffer[self._filled : self._filled + room] = chunk[:room]
            self._filled += room
            chunk = chunk[room:]
            if self._filled == BUFFER_BYTES:
                self._flush(BUFFER_BYTES)

    def finish(self) -> None:
        """Write what is left. Its last part is no whole block and goes through the page cache."""
        self._flush(self._filled // _BLOCK * _BLOCK)
        if self._filled:
            self._reopen_buffered()
            self._flush(self._filled)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _flush(self, count: int) -> None:
        done = 0
        while done < count:
            try:
                done += os.pwrite(self._descriptor, self._buffer[done:count], self._at + done)
            except OSError as error:
                if error.errno != errno.EINVAL or not self._direct:
                    raise
                self._reopen_buffered()  # larger blocks than ours, or half of one was written
        self._at += count
        left = self._filled - count
        self._buffer[:left] = bytes(self._buffer[count : self._filled])
        self._filled = left

    def _reopen_buffered(self) -> None:
        os.close(self._descriptor)
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_NOFOLLOW)
        self._direct = False


def checksum_of(path: Path, start: int, length: int) -> int | None:
    """The CRC-32 of a part of a file as it is on the disk; None where the file is not that long or not there."""
    checksum, left = 0, length
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            while left:
                data = file.read(min(left, _READ_BYTES))
                if not data:
                    return None
                checksum = zlib.crc32(data, checksum)
                left -= len(data)
    except FileNotFoundError:
        return None
    return checksum


def sync_file(path: Path) -> None:
    """Mode, a time of whole seconds and the bytes, all on the disk.

    The time is later compared to tell whether the file was touched; some file systems keep no fractions of a second
    across a mount.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fchmod(descriptor, FILE_MODE)
        now = int(time.time()) * 1_000_000_000
        os.utime(descriptor, ns=(now, now))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
