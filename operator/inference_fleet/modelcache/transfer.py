"""Objects to files: several streams at once, bounded memory, every size checked, every file synced."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import obstore

from inference_fleet.modelcache.failure import Failure, ModelError, disk_error
from inference_fleet.modelcache.layout import FILE_MODE, FOLDER_MODE
from inference_fleet.modelcache.listing import Listing, ModelFile
from inference_fleet.modelcache.store import STORE_ERRORS, Location, Store, store_error

if TYPE_CHECKING:
    from obstore import GetOptions

P = ParamSpec("P")
T = TypeVar("T")

STREAMS = 8
"""Files in flight. One S3 connection gives some 90 MB/s, so eight fill a 5 Gbit/s link."""

CHUNK_BYTES = 4 << 20
"""Bytes per write. Eight streams of it take 190 MB of memory whatever the model's size (of 8 MiB: 300 MB), measured."""

Progress = Callable[[int], None]
"""Called with the number of bytes that have just been written."""


def check_space(listing: Listing, root: Path) -> None:
    """Refuse a model that the file system of `root` has no room for.

    Raises:
        ModelError: NoSpace, with the bytes that are missing.
    """
    try:
        state = os.statvfs(root)
    except OSError as error:
        raise disk_error(error, f"look at the cache {str(root)!r}") from error
    free = state.f_bavail * state.f_frsize
    needed = sum(-(-file.size // state.f_frsize) * state.f_frsize for file in listing.files)
    if needed > free:
        raise ModelError(
            Failure.NO_SPACE,
            f"The model needs {needed:,} bytes and the cache {str(root)!r} has {free:,} free: "
            f"{needed - free:,} are missing.",
        )


async def fetch(
    store: Store, location: Location, files: tuple[ModelFile, ...], stage: Path, progress: Progress
) -> tuple[ModelFile, ...]:
    """Write the objects below `stage`; the files written: all but folder markers.

    The first failure stops all streams.

    Raises:
        ModelError: the store or the disk failed, or an object is no longer the one that was listed.
    """
    limit = asyncio.Semaphore(STREAMS)

    async def one(file: ModelFile) -> ModelFile | None:
        async with limit:
            return await _fetch_file(store, location, file, stage, progress)

    try:
        async with asyncio.TaskGroup() as group:
            # Largest first: a big file started last would run alone at the end.
            ordered = sorted(files, key=lambda file: file.size, reverse=True)
            tasks = [group.create_task(one(file)) for file in ordered]
    except* ModelError as failures:
        raise failures.exceptions[0] from None
    written = (task.result() for task in tasks)
    return tuple(sorted((file for file in written if file), key=lambda file: file.name))


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


async def _fetch_file(
    store: Store, location: Location, file: ModelFile, stage: Path, progress: Progress
) -> ModelFile | None:
    options: GetOptions = {"if_match": file.etag} if file.etag else {}
    try:
        result = await obstore.get_async(store, file.key, options=options)
    except FileNotFoundError as error:
        if file.size == 0:
            return None  # the marker of an empty folder, which obstore lists without its slash
        raise ModelError(Failure.MODEL_CHANGED, f"{file.key!r} of {location} went away while it was read.") from error
    except STORE_ERRORS as error:
        raise store_error(error, location) from error
    if result.meta["size"] != file.size or (result.meta["e_tag"] or file.etag) != file.etag:
        raise ModelError(Failure.MODEL_CHANGED, f"{file.key!r} of {location} is not the object that was listed.")
    path = stage / file.name
    descriptor = _create(path)
    try:
        written = 0
        stream = result.stream(min_chunk_size=CHUNK_BYTES)
        while (chunk := await _next_chunk(stream, location)) is not None:
            await on_disk(_write_all, descriptor, chunk, path)
            written += len(chunk)
            progress(len(chunk))
        if written != file.size:
            raise ModelError(
                Failure.STORE_UNREACHABLE, f"{file.key!r} of {location} ended after {written} of {file.size} bytes."
            )
        await on_disk(_finish, descriptor, path)
    finally:
        os.close(descriptor)
    return file


async def _next_chunk(stream: AsyncIterator[bytes], location: Location) -> bytes | None:
    try:
        return await anext(stream, None)
    except STORE_ERRORS as error:
        raise store_error(error, location) from error


def _create(path: Path) -> int:
    try:
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, FILE_MODE)
    except OSError as error:
        raise disk_error(error, f"create {path.name!r} in the cache") from error


def _write_all(descriptor: int, chunk: bytes, path: Path) -> None:
    view = memoryview(chunk)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        raise disk_error(error, f"write {path.name!r} to the cache") from error


def _finish(descriptor: int, path: Path) -> None:
    """Mode, a time of whole seconds and the bytes, all on the disk.

    The time is later compared to tell whether the file was touched; some file systems keep no fractions of a second
    across a mount.
    """
    try:
        os.fchmod(descriptor, FILE_MODE)
        now = int(time.time()) * 1_000_000_000
        os.utime(descriptor, ns=(now, now))
        os.fsync(descriptor)
    except OSError as error:
        raise disk_error(error, f"write {path.name!r} to the cache") from error
