"""Ranges of objects to their places in files: many connections, bounded memory, every range checked and journaled."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import obstore

from inference_fleet.modelcache import journal
from inference_fleet.modelcache.disk import RangeWriter, aligned_buffer, on_disk
from inference_fleet.modelcache.failure import Failure, ModelError, disk_error
from inference_fleet.modelcache.listing import ModelFile
from inference_fleet.modelcache.ranges import Range
from inference_fleet.modelcache.retry import Counts, Patience, retried
from inference_fleet.modelcache.store import STORE_ERRORS, Location, Store, store_error

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult

CONNECTIONS = 16
"""One S3 connection gives some 90 MB/s, so that 16 fill a link of 10 Gbit/s."""

_CHUNK_BYTES = 1 << 20
"""What is taken from a connection at a time."""

Progress = Callable[[int], None]
"""Called with the number of bytes that have just been written."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What all connections of one fetch share. `journal` is the open journal of the staging directory `stage`."""

    store: Store
    location: Location
    files: Sequence[ModelFile]
    stage: Path
    journal: int
    progress: Progress
    counts: Counts


async def fetch(transfer: Transfer, ranges: Sequence[Range]) -> dict[tuple[int, int], int]:
    """Write these ranges; (file, index) to checksum. The first failure stops all connections.

    Raises:
        ModelError: the store or the disk failed, or an object is no longer the one that was listed.
    """
    waiting = deque(ranges)
    checksums: dict[tuple[int, int], int] = {}

    async def connection() -> None:
        buffer = aligned_buffer()
        while waiting:
            one = waiting.popleft()
            checksums[one.file, one.index] = await _fetch_range(transfer, one, buffer)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(CONNECTIONS, len(ranges))):
                group.create_task(connection())
    except* ModelError as failures:
        raise failures.exceptions[0] from None
    return checksums


async def is_object(transfer: Transfer, file: ModelFile) -> bool:
    """Whether an empty file is one. False for the marker of an empty folder, which obstore lists without its slash."""

    async def look() -> bool:
        try:
            await obstore.head_async(transfer.store, file.key)
        except FileNotFoundError:
            return False
        except STORE_ERRORS as error:
            raise store_error(error, transfer.location) from error
        return True

    return await retried(look, transfer.counts)


async def _fetch_range(transfer: Transfer, one: Range, buffer: memoryview) -> int:
    """Fetch one range, write it, and put it into the journal; its checksum.

    After a broken connection the rest of the range is asked for, not the whole of it.
    """
    file = transfer.files[one.file]
    patience = Patience(transfer.counts)
    at = one.start
    try:
        writer = await on_disk(RangeWriter, transfer.stage / file.name, one.start, buffer)
        try:
            while at < one.end:
                try:
                    async for chunk in _chunks(transfer, file, at, one.end):
                        await on_disk(writer.write, chunk)
                        at += len(chunk)
                        transfer.counts.fetched += len(chunk)
                        transfer.progress(len(chunk))
                        patience.progressed()
                except ModelError as error:
                    await patience.after(error)
            await on_disk(writer.finish)
        finally:
            writer.close()
        await on_disk(os.write, transfer.journal, journal.entry(one, writer.checksum))
    except OSError as error:
        raise disk_error(error, f"write {file.name!r} to the cache") from error
    return writer.checksum


async def _chunks(transfer: Transfer, file: ModelFile, start: int, end: int) -> AsyncIterator[memoryview]:
    """The bytes [start, end) of exactly the object that was listed, as they arrive."""
    result = await _ask(transfer, file, start, end)
    where = f"{file.key!r} of {transfer.location}"
    if result.meta["size"] != file.size or (result.meta["e_tag"] or file.etag) != file.etag:
        raise ModelError(Failure.MODEL_CHANGED, f"{where} is not the object that was listed.")
    if result.range != (start, end):
        raise ModelError(Failure.STORE_UNREACHABLE, f"{where}: the store answered another range.", transient=True)
    stream = result.stream(min_chunk_size=_CHUNK_BYTES)
    left = end - start
    while True:
        try:
            chunk = await anext(stream, None)
        except STORE_ERRORS as error:
            raise store_error(error, transfer.location) from error
        if chunk is None:
            break
        left -= len(chunk)
        if left < 0:
            raise ModelError(Failure.STORE_UNREACHABLE, f"{where}: more bytes came than were asked for.")
        yield memoryview(chunk)
    if left:
        raise ModelError(Failure.STORE_UNREACHABLE, f"{where} ended {left} bytes early.", transient=True)


async def _ask(transfer: Transfer, file: ModelFile, start: int, end: int) -> "GetResult":
    options: GetOptions = {"range": (start, end)}
    if file.etag:
        options["if_match"] = file.etag
    try:
        return await obstore.get_async(transfer.store, file.key, options=options)
    except FileNotFoundError as error:
        message = f"{file.key!r} of {transfer.location} went away while it was read."
        raise ModelError(Failure.MODEL_CHANGED, message) from error
    except STORE_ERRORS as error:
        raise store_error(error, transfer.location) from error
