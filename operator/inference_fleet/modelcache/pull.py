"""One pull, from the listing to the published copy."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inference_fleet.modelcache import publish
from inference_fleet.modelcache.failure import Failure, ModelError, disk_error
from inference_fleet.modelcache.listing import Listing
from inference_fleet.modelcache.store import Location, Store, list_model
from inference_fleet.modelcache.transfer import Progress, check_space, fetch, on_disk


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull has left at its destination. `cached`: the bytes were there already, published by some pull."""

    digest: str
    bytes: int
    files: int
    cached: bool


async def pull_model(
    store: Store, location: Location, dest: Path, pinned: str | None, begin: Callable[[int], Progress]
) -> Pulled:
    """Bring the model to `dest`, whole or not at all. `begin` gets the bytes to fetch and returns where they count.

    Raises:
        ModelError: with the kind of failure; nothing but an old copy is left at `dest`.
    """
    listing = await list_model(store, location)
    if pinned is not None and listing.digest != pinned:
        raise ModelError(
            Failure.MODEL_CHANGED,
            f"{location} changed since the operator read it: its digest is {listing.digest}, not {pinned}.",
        )
    try:
        await on_disk(publish.remove_stale, dest.parent)
        if found := publish.holds(dest, listing.digest):
            return Pulled(found.digest, sum(file.size for file in found.files), len(found.files), cached=True)
        return await _fill(store, location, dest, listing, begin(listing.bytes))
    except OSError as error:
        raise disk_error(error, f"keep the model at {str(dest)!r}") from error


async def _fill(store: Store, location: Location, dest: Path, listing: Listing, progress: Progress) -> Pulled:
    if publish.read_ready(dest) is None:
        await on_disk(publish.displace, dest)
    with publish.staging(dest) as stage:
        check_space(listing, stage)
        files = await fetch(store, location, listing.files, stage, progress)
        manifest = await on_disk(publish.seal, stage, str(location), listing.digest, files)
        published = await on_disk(publish.publish, stage, dest, listing.digest)
    return Pulled(listing.digest, listing.bytes, len(manifest.files), cached=not published)
