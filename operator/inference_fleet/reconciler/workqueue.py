"""A coalescing queue of service keys.

However many events a service gets, its key waits at most once and is worked on by at most one worker. A key that is
added while it is worked on comes again afterwards. Failures come back later and later, with jitter, so that a broken
service costs nothing and a recovered API server is not stormed.
"""

import asyncio
import heapq
import itertools
import random
from collections.abc import Hashable
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)

_FIRST_RETRY_SECONDS = 1.0
_LAST_RETRY_SECONDS = 300.0
_JITTER = 0.3


class WorkQueue(Generic[KeyT]):
    """Keys with the time at which each is due; the earliest time that was asked for wins."""

    def __init__(self) -> None:
        """Start empty."""
        self._due: dict[KeyT, float] = {}
        self._heap: list[tuple[float, int, KeyT]] = []
        self._order = itertools.count()
        self._working: dict[KeyT, float | None] = {}
        self._failures: dict[KeyT, int] = {}
        self._wakeup = asyncio.Event()

    def __len__(self) -> int:
        return len(self._due)

    def add(self, key: KeyT, after: float = 0.0) -> None:
        """Ask for `key` to be worked on `after` seconds from now at the latest; below zero it overtakes what is due."""
        due = asyncio.get_running_loop().time() + after
        if key in self._working:
            again = self._working[key]
            self._working[key] = due if again is None else min(again, due)
            return
        waiting = self._due.get(key)
        if waiting is not None and waiting <= due:
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, next(self._order), key))
        self._wakeup.set()

    async def take(self) -> KeyT:
        """Wait for the next key that is due, and hold it until `done`."""
        loop = asyncio.get_running_loop()
        while True:
            self._drop_stale()
            now = loop.time()
            if self._heap and self._heap[0][0] <= now:
                _, _, key = heapq.heappop(self._heap)
                del self._due[key]
                self._working[key] = None
                return key
            self._wakeup.clear()
            delay = self._heap[0][0] - now if self._heap else None
            try:
                await asyncio.wait_for(self._wakeup.wait(), delay)
            except TimeoutError:
                continue

    def done(self, key: KeyT, *, failed: bool = False, after: float | None = None) -> None:
        """Give `key` back: a failure comes again with backoff, a success `after` seconds if given."""
        again = self._working.pop(key)
        now = asyncio.get_running_loop().time()
        if failed:
            count = self._failures[key] = self._failures.get(key, 0) + 1
            delay = min(_LAST_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2 ** min(count - 1, 16))
            again = now + delay * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 - spreads retries
        else:
            self._failures.pop(key, None)
            if after is not None:
                again = now + after if again is None else min(again, now + after)
        if again is not None:
            self.add(key, again - now)

    def _drop_stale(self) -> None:
        while self._heap and self._due.get(self._heap[0][2]) != self._heap[0][0]:
            heapq.heappop(self._heap)
