"""Who writes: the operator's tasks run while it holds the Lease, and stop before anybody else may hold it.

Losing the Lease does not end the process: through an outage of the API server the watches go on, and the workers start
again with a full cache as soon as the Lease is held again.
"""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable

from inference_fleet.clients.lease import Lease
from inference_fleet.reconciler.loop import Loop
from inference_fleet.settings import Settings

logger = logging.getLogger(__name__)

LEASE_NAME = "inference-fleet"

Watch = Callable[[asyncio.Event, asyncio.Event], Awaitable[None]]
"""Watches until the first event is set; sets the second once it is under way."""


class Leading:
    """The life of one operator process, and what its probes say of it."""

    def __init__(self, loop: Loop, lease: Lease | None, settings: Settings) -> None:
        """Without a lease this process is taken to be the only one."""
        self._loop = loop
        self._lease = lease
        self._settings = settings
        self._tasks: list[asyncio.Task[None]] = []
        self._waiting = lease is not None

    def wrong(self) -> str | None:
        """For /healthz: what has ended that should not have."""
        ended = [task.get_name() for task in self._tasks if task.done()]
        return f"ended: {', '.join(ended)}" if ended else None

    def not_ready(self) -> str | None:
        """For /readyz. One that waits for the Lease is ready: a rolling update must not wait for leadership."""
        return None if self._waiting or self._loop.listed else "the cluster is not listed yet"

    async def run(self, watch: Watch) -> None:
        """Wait for the Lease, work and watch until told to stop.

        At a stop the workers end and the Lease is handed back first: the watches need seconds to wind down, in which
        another operator already works.
        """
        stop = asyncio.Event()
        _stop_at_signals(stop)
        try:
            if await self._acquired(stop):
                await self._work_and_watch(watch, stop)
        finally:
            await self._hand_back()

    async def _acquired(self, stop: asyncio.Event) -> bool:
        if self._lease is None:
            return True
        acquiring = asyncio.create_task(self._lease.acquire(), name="lease")
        stopping = asyncio.create_task(_until(stop), name="stop")
        await asyncio.wait({acquiring, stopping}, return_when=asyncio.FIRST_COMPLETED)
        await _end([acquiring, stopping])
        self._waiting = False
        return not stop.is_set()

    async def _work_and_watch(self, watch: Watch, stop: asyncio.Event) -> None:
        started = asyncio.Event()
        # Before kopf: it cancels whatever is started after it.
        self._tasks = [
            asyncio.create_task(self._list_and_resync(), name="resync"),
            asyncio.create_task(self._work_while_leading(), name="workers"),
        ]
        stopping = asyncio.create_task(self._stop_early(started, stop), name="stop")
        try:
            await watch(stop, started)
        finally:
            await _end([stopping])

    async def _stop_early(self, started: asyncio.Event, stop: asyncio.Event) -> None:
        await started.wait()
        _stop_at_signals(stop)  # again: kopf has put its own handlers there
        await stop.wait()
        await self._hand_back()

    async def _hand_back(self) -> None:
        tasks, self._tasks = self._tasks, []
        await _end(tasks)
        if self._lease is not None:
            await self._lease.release()

    async def _list_and_resync(self) -> None:
        await self._loop.list_all()
        logger.info("the cluster is listed; reconciling")
        await self._loop.resync(self._settings.resync_seconds)

    async def _work_while_leading(self) -> None:
        while True:
            async with asyncio.TaskGroup() as workers:
                tasks = [workers.create_task(self._loop.work()) for _ in range(self._settings.workers)]
                await (self._lease.hold() if self._lease else asyncio.Event().wait())
                for task in tasks:
                    task.cancel()
            if self._lease is not None:
                await self._lease.acquire()


def _stop_at_signals(stop: asyncio.Event) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _until(stop: asyncio.Event) -> None:
    await stop.wait()
