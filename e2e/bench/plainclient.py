"""What `pull` is measured against: `python -m e2e.bench.plainclient MODE BUCKET PREFIX FOLDER`, through obstore alone.

`sequential` writes one object after the other as any simple client does; `nowhere` reads ranges on as many connections
as `pull` does and keeps nothing: what this server and machine can give at most. Neither checks a byte.
"""

import asyncio
import os
import sys
from collections import deque
from pathlib import Path

import obstore
from obstore.store import S3Store

from inference_fleet.modelcache.ranges import Range, ranges_of
from inference_fleet.modelcache.transfer import CONNECTIONS

_CHUNK_BYTES = 1 << 20


def sequential(store: S3Store, keys: list[str], folder: Path) -> None:
    """One stream, written and synced."""
    for key in keys:
        with (folder / Path(key).name).open("wb") as file:
            for chunk in obstore.get(store, key).stream(min_chunk_size=_CHUNK_BYTES):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())


async def nowhere(store: S3Store, keys: list[str], ranges: list[Range]) -> None:
    """Many streams, thrown away."""
    waiting = deque(ranges)

    async def connection() -> None:
        while waiting:
            one = waiting.popleft()
            answer = await obstore.get_async(store, keys[one.file], options={"range": (one.start, one.end)})
            async for _ in answer.stream(min_chunk_size=_CHUNK_BYTES):
                pass

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))


def main() -> None:
    """Run one of both."""
    mode, bucket, prefix, folder = sys.argv[1:]
    store = S3Store(bucket, virtual_hosted_style_request=False, client_options={"allow_http": True})
    listed = [meta for page in obstore.list(store, prefix) for meta in page]
    keys = [meta["path"] for meta in listed]
    if mode == "sequential":
        sequential(store, keys, Path(folder))
    else:
        asyncio.run(nowhere(store, keys, ranges_of([meta["size"] for meta in listed])))


if __name__ == "__main__":
    main()
    os._exit(0)  # see `leave` of the pull command
