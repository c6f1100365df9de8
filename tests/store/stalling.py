"""A TCP proxy that lets so many bytes of answers through and then holds them: a pull stands still in the middle."""

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator


class StallingProxy:
    """Forwards to a port of loopback; `passed` counts the bytes of answers.

    What was held stays so; `open` lets later answers through.
    """

    def __init__(self, target: int, limit: int) -> None:
        self._target = target
        self.limit = limit
        self.passed = 0
        self.port = 0
        self._serving: set[object] = set()

    def open(self) -> None:
        self.limit = sys.maxsize

    @contextlib.contextmanager
    def running(self) -> Iterator["StallingProxy"]:
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

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._serving.add(asyncio.current_task())  # asyncio holds tasks weakly: this one outlives its client
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        up = asyncio.create_task(self._forward(reader, far_writer))
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while piece := await far_reader.read(1 << 16):
                if self.passed >= self.limit:
                    await asyncio.Event().wait()
                self.passed += len(piece)
                writer.write(piece)
                await writer.drain()
        up.cancel()
        for end in (writer, far_writer):
            end.close()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(1 << 16):
                writer.write(piece)
                await writer.drain()
