"""One pull, from the listing to the published copy."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from inference_fleet.modelcache import claim, publish, staging
from inference_fleet.modelcache.check import is_whole
from inference_fleet.modelcache.disk import on_disk
from inference_fleet.modelcache.failure import Failure, ModelError, disk_error
from inference_fleet.modelcache.fill import Filled, fill
from inference_fleet.modelcache.journal import Job
from inference_fleet.modelcache.listing import Listing
from inference_fleet.modelcache.ranges import bytes_of, ranges_of
from inference_fleet.modelcache.retry import Counts, retried
from inference_fleet.modelcache.space import KEEP_ALL, Evicted, Policy
from inference_fleet.modelcache.staging import Stage
from inference_fleet.modelcache.store import Location, Store, list_model
from inference_fleet.modelcache.transfer import Progress

_WAIT_POLL_SECONDS = 0.2
_BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Pulled:
    """What a pull has left at its destination, and what that took.

    `cached`: some other pull has published the bytes, before this one (`cache_hit`) or during it. `fetched` are bytes
    from the store, `resumed` those that a dead pull had left.
    """

    digest: str
    bytes: int
    files: int
    cached: bool
    cache_hit: bool
    fetched: int
    resumed: int
    retries: int
    evicted: Evicted


async def pull_model(
    store: Store,
    location: Location,
    dest: Path,
    pinned: str | None,
    begin: Callable[[int], Progress],
    policy: Policy = KEEP_ALL,
    verify: bool = False,
) -> Pulled:
    """Bring the model to `dest`, whole or not at all.

    Args:
        store: opened without retries of its own.
        location: where the model lies in it.
        dest: the directory that the model becomes.
        pinned: the digest that the listing must have.
        begin: gets the bytes to fetch, or to wait for, and returns where they are counted.
        policy: what the directory of `dest` may take.
        verify: read the copy, new or old, and fetch it again if it is damaged.

    Raises:
        ModelError: with the kind of failure; nothing but an old copy is left at `dest`.
    """
    counts = Counts()
    listing = await retried(lambda: list_model(store, location), counts)
    if pinned is not None and listing.digest != pinned:
        raise ModelError(
            Failure.MODEL_CHANGED,
            f"{location} changed since the operator read it: its digest is {listing.digest}, not {pinned}.",
        )
    pull = _Pull(store, location, dest, listing, begin, policy, counts)
    try:
        pulled = await pull.run()
        if verify and not await _verified(dest, listing.digest):
            pulled = await pull.run()
            if not await _verified(dest, listing.digest):
                raise ModelError(
                    Failure.CACHE_FAILED, f"The disk of {str(dest)!r} does not keep what is written to it."
                )
        return pulled
    except OSError as error:
        raise disk_error(error, f"keep the model at {str(dest)!r}") from error


async def _verified(dest: Path, digest: str) -> bool:
    """Whether every byte of the copy is right; a damaged copy loses its marker."""
    manifest = publish.holds(dest, digest)
    if manifest is not None and await is_whole(dest, manifest):
        return True
    await on_disk(publish.unmark, dest)
    return False


class _Pull:
    def __init__(
        self,
        store: Store,
        location: Location,
        dest: Path,
        listing: Listing,
        begin: Callable[[int], Progress],
        policy: Policy,
        counts: Counts,
    ) -> None:
        self._store, self._location, self._dest, self._listing = store, location, dest, listing
        self._begin, self._policy, self._counts = begin, policy, counts
        sizes = [file.size for file in listing.files]
        self._ranges = ranges_of(sizes)
        allocated = sum(-(-size // _BLOCK) * _BLOCK for size in sizes)
        source = f"{location} at {getattr(location, 'endpoint', None)}"
        self._job = Job(dest.name, source, listing.digest, allocated, staging.boot_id())
        self._evicted = Evicted()

    async def run(self) -> Pulled:
        """Wait while another pull fetches; fetch if none does."""
        progress: Progress | None = None
        shown = 0
        while True:
            found = await on_disk(claim.claim, self._dest, self._job, self._policy)
            if isinstance(found, claim.Hit):
                files = len(found.manifest.files)
                return self._pulled(files, 0, cached=True, hit=progress is None)
            if isinstance(found, claim.Fetch):
                self._evicted = found.evicted
                return await self._fetch(found.stage, progress)
            progress = progress or self._begin(self._listing.bytes)
            done = bytes_of(one for one in self._ranges if (one.file, one.index) in found.written)
            if done > shown:
                progress(done - shown)
                shown = done
            await asyncio.sleep(_WAIT_POLL_SECONDS)

    async def _fetch(self, stage: Stage, progress: Progress | None) -> Pulled:
        started = time.monotonic()
        keep = False
        try:
            async with _heartbeat(stage):
                begin = (lambda _: progress) if progress else self._begin
                filled = await fill(self._store, self._location, self._listing, stage, self._counts, begin)
                published = await self._publish(stage, filled, time.monotonic() - started)
            return self._pulled(len(filled.files), filled.resumed, cached=not published, hit=False)
        except ModelError as error:
            keep = error.failure is Failure.STORE_UNREACHABLE
            raise
        except asyncio.CancelledError:
            keep = True
            raise
        finally:
            stage.close(keep=keep)

    async def _publish(self, stage: Stage, filled: Filled, seconds: float) -> bool:
        listing = self._listing
        await on_disk(
            publish.seal, stage.path, str(self._location), listing.digest, filled.files, filled.checksums, seconds
        )
        return await on_disk(publish.publish, stage.path, self._dest, listing.digest)

    def _pulled(self, files: int, resumed: int, *, cached: bool, hit: bool) -> Pulled:
        return Pulled(
            digest=self._listing.digest,
            bytes=self._listing.bytes,
            files=files,
            cached=cached,
            cache_hit=hit,
            fetched=self._counts.fetched,
            resumed=resumed,
            retries=self._counts.retries,
            evicted=self._evicted,
        )


@contextlib.asynccontextmanager
async def _heartbeat(stage: Stage) -> AsyncIterator[None]:
    async def beat() -> None:
        while True:
            await asyncio.sleep(staging.HEARTBEAT_SECONDS)
            await on_disk(stage.beat)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait([beating])
