"""A server on loopback in a thread of its own, for clients that are other threads or processes."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Self


class ThreadedServer:
    """Says how one connection is served in `_serve`; `port` is known while it runs."""

    def __init__(self) -> None:
        self.port = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError("a server says how it serves")

    @contextlib.contextmanager
    def running(self) -> Iterator[Self]:
        """Serve from a thread of its own."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever)
        thread.start()
        server = asyncio.run_coroutine_threadsafe(self._listen(), loop).result(10)
        try:
            yield self
        finally:
            asyncio.run_coroutine_threadsafe(self._end(server), loop).result(10)
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    async def _listen(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _end(self, server: asyncio.Server) -> None:
        server.close()
        await asyncio.sleep(0)  # a connection that was just accepted gets its task
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
