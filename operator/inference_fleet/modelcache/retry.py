"""Again after a transient failure: how often, and after which pause."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from inference_fleet.modelcache.failure import ModelError

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0
RETRIES = 7
"""In a row without a byte, some six seconds. A store that stays away longer ends the pull; the kubelet starts it again
after a pause, and it resumes."""


@dataclass
class Counts:
    """What a pull has done so far, for its result."""

    fetched: int = 0
    """Bytes that arrived from the store."""
    retries: int = 0


def pause(failures: int) -> float:
    """Seconds to wait after so many failures in a row: exponential with full jitter, so that pods do not retry as one.

    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
    """
    limit = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (failures - 1))
    return random.uniform(0, limit)  # noqa: S311 - spreads load, guards nothing


class Patience:
    """Failures in a row of one request."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._failures = 0

    def progressed(self) -> None:
        """Bytes have arrived: the next failure is a first one."""
        self._failures = 0

    async def after(self, error: ModelError) -> None:
        """Wait before the next attempt, or raise the error where another is pointless."""
        self._failures += 1
        if not error.transient or self._failures > RETRIES:
            raise error
        self._counts.retries += 1
        await asyncio.sleep(pause(self._failures))


async def retried(work: Callable[[], Awaitable[T]], counts: Counts) -> T:
    """Do the work until it succeeds or fails for good."""
    patience = Patience(counts)
    while True:
        try:
            return await work()
        except ModelError as error:
            await patience.after(error)
