"""Fill a staging directory: keep what is right in it, fetch the rest."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from inference_fleet.modelcache.check import good_ranges
from inference_fleet.modelcache.disk import allocate, on_disk, sync_file
from inference_fleet.modelcache.failure import disk_error
from inference_fleet.modelcache.listing import Listing, ModelFile
from inference_fleet.modelcache.ranges import Range, bytes_of, ranges_of
from inference_fleet.modelcache.retry import Counts
from inference_fleet.modelcache.staging import Stage
from inference_fleet.modelcache.store import Location, Store
from inference_fleet.modelcache.transfer import Progress, Transfer, fetch, is_object

_SYNCS = 4


@dataclass(frozen=True, slots=True)
class Filled:
    """The files that lie in the staging directory, the checksums of their ranges, and the bytes not fetched anew."""

    files: list[ModelFile]
    checksums: list[tuple[int, ...]]
    resumed: int


async def fill(
    store: Store,
    location: Location,
    listing: Listing,
    stage: Stage,
    counts: Counts,
    begin: Callable[[int], Progress],
) -> Filled:
    """Bring every file of the listing into the stage, on the disk and synced.

    Raises:
        ModelError: the store or the disk failed, or an object is no longer the one that was listed.
    """
    files = listing.files
    ranges = ranges_of([file.size for file in files])
    try:
        good = await good_ranges(stage.path, [file.name for file in files], ranges, stage.written)
        for file in files:
            if file.size:
                await on_disk(allocate, stage.path / file.name, file.size)
    except OSError as error:
        raise disk_error(error, f"make room for the model in {str(stage.path.parent)!r}") from error
    missing = [one for one in ranges if one not in good]
    transfer = Transfer(store, location, files, stage.path, stage.journal, begin(bytes_of(missing)), counts)
    checksums = {(one.file, one.index): stage.written[one.file, one.index] for one in good}
    checksums |= await fetch(transfer, missing)
    kept = [file for file in files if file.size or await is_object(transfer, file)]
    try:
        await _sync(stage, kept)
    except OSError as error:
        raise disk_error(error, "write the model to the cache") from error
    return Filled(kept, _by_file(files, kept, ranges, checksums), bytes_of(good))


async def _sync(stage: Stage, files: list[ModelFile]) -> None:
    limit = asyncio.Semaphore(_SYNCS)

    async def one(file: ModelFile) -> None:
        async with limit:
            if not file.size:
                await on_disk(allocate, stage.path / file.name, 0)
            await on_disk(sync_file, stage.path / file.name)

    await asyncio.gather(*(one(file) for file in files))


def _by_file(
    files: tuple[ModelFile, ...],
    kept: list[ModelFile],
    ranges: list[Range],
    checksums: dict[tuple[int, int], int],
) -> list[tuple[int, ...]]:
    """The checksums of each kept file in the order of its ranges."""
    found: dict[str, list[int]] = {file.name: [] for file in kept}
    for one in sorted(ranges, key=lambda one: (one.file, one.index)):
        found[files[one.file].name].append(checksums[one.file, one.index])
    return [tuple(found[file.name]) for file in kept]
