"""A TCP proxy that lets so many bytes of answers through and then holds them: a pull stands still in the middle."""

import asyncio
import contextlib
import sys

from e2e.faults.threaded import ThreadedServer


class StallingProxy(ThreadedServer):
    """Forwards to a port of loopback; `passed` counts the bytes of answers.

    What was held stays so; `open` lets later answers through.
    """

    def __init__(self, target: int, limit: int) -> None:
        super().__init__()
        self._target = target
        self.limit = limit
        self.passed = 0
        self._serving: set[object] = set()

    def open(self) -> None:
        self.limit = sys.maxsize

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
