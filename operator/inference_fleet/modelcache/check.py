"""Bytes on the disk against the checksums that were taken when they arrived."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from inference_fleet.modelcache.disk import checksum_of, on_disk
from inference_fleet.modelcache.layout import Manifest
from inference_fleet.modelcache.ranges import Range, ranges_of

_READERS = 4


async def good_ranges(
    folder: Path, names: Sequence[str], ranges: Sequence[Range], checksums: Mapping[tuple[int, int], int]
) -> set[Range]:
    """Those of the ranges whose bytes give the checksum; the files are `names` in `folder`.

    Raises:
        OSError: the disk failed.
    """
    limit = asyncio.Semaphore(_READERS)

    async def good(one: Range) -> bool:
        async with limit:
            found = await on_disk(checksum_of, folder / names[one.file], one.start, one.length)
        return found is not None and found == checksums.get((one.file, one.index))

    known = [one for one in ranges if (one.file, one.index) in checksums]
    answers = await asyncio.gather(*(good(one) for one in known))
    return {one for one, answer in zip(known, answers, strict=True) if answer}


async def is_whole(dest: Path, manifest: Manifest) -> bool:
    """Read a published copy and compare all of it with its manifest.

    Raises:
        OSError: the disk failed.
    """
    files = manifest.files
    ranges = ranges_of([file.size for file in files])
    checksums = {
        (number, index): checksum for number, file in enumerate(files) for index, checksum in enumerate(file.checksums)
    }
    return await good_ranges(dest, [file.name for file in files], ranges, checksums) == set(ranges)
