"""An HTTP proxy on loopback that does to answers what networks and stores do: cut, reset, refuse, slow down.

It reads just enough HTTP for that: requests without a body, one at a time on a connection. Answers pass through as
bytes, so that signatures, ranges and ETags are the server's own.
"""

import asyncio
import contextlib
import random
import socket
import struct
import time
from dataclasses import dataclass

from e2e.faults.threaded import ThreadedServer

_PIECE = 1 << 16
_CREDIT_SECONDS = 0.05
_REFUSAL_BODY = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_REFUSAL = (
    b"HTTP/1.1 503 Slow Down\r\nContent-Type: application/xml\r\nContent-Length: %d\r\n\r\n" % len(_REFUSAL_BODY)
) + _REFUSAL_BODY


@dataclass
class Weather:
    """What happens to answers, by chance; may be changed while the proxy runs."""

    cut: float = 0.0
    """The share of answers that end early and politely."""
    reset: float = 0.0
    """The share that end in a reset connection."""
    refuse: float = 0.0
    """The share of requests that are answered 503."""
    longest: int = 1 << 18
    """A broken answer breaks after at most so many bytes."""
    latency_seconds: float = 0.0
    """Before a request reaches the server."""
    connection_rate: float | None = None
    """Bytes a second that one connection gives."""


class Proxy(ThreadedServer):
    """Forwards to a port of loopback; `passed` counts bytes of answers, `connections` those that were made."""

    def __init__(self, target: int, seed: int = 0) -> None:
        super().__init__()
        self._target = target
        self._random = random.Random(seed)  # noqa: S311 - faults are drawn, nothing is guarded
        self.weather = Weather()
        self.passed = 0
        self.connections = 0

    @property
    def endpoint(self) -> str:
        """Where a client finds it."""
        return f"http://127.0.0.1:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        answer = _Answer()
        down = asyncio.create_task(self._answers(far_reader, writer, answer))
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while not down.done():
                    head = await reader.readuntil(b"\r\n\r\n")
                    await asyncio.sleep(self.weather.latency_seconds)
                    if self._random.random() < self.weather.refuse:
                        writer.write(_REFUSAL)
                        continue
                    answer.begin(self._fate())
                    far_writer.write(head)
        finally:
            down.cancel()
            await asyncio.gather(down, return_exceptions=True)
            for end in (writer, far_writer):
                end.close()

    def _fate(self) -> tuple[int, bool] | None:
        """After how many bytes this answer breaks, and whether by a reset."""
        drawn = self._random.random()
        if drawn >= self.weather.cut + self.weather.reset:
            return None
        return self._random.randint(0, self.weather.longest), drawn < self.weather.reset

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: "_Answer") -> None:
        with contextlib.suppress(OSError):
            while piece := await reader.read(_PIECE):
                piece, broken = answer.take(piece)
                self.passed += len(piece)
                writer.write(piece)
                await writer.drain()
                if broken:
                    if answer.reset:
                        _reset(writer)
                    break
                if self.weather.connection_rate:
                    await asyncio.sleep(answer.pause(len(piece), self.weather.connection_rate))
        writer.close()


class _Answer:
    """The answer that is under way on one connection."""

    def __init__(self) -> None:
        self._left: int | None = None
        self.reset = False
        self._due = 0.0

    def begin(self, fate: tuple[int, bool] | None) -> None:
        self._left, self.reset = fate or (None, False)
        self._due = 0.0

    def take(self, piece: bytes) -> tuple[bytes, bool]:
        """What of the piece passes, and whether the answer breaks here."""
        if self._left is None:
            return piece, False
        passing = piece[: self._left]
        self._left -= len(passing)
        return passing, self._left == 0

    def pause(self, count: int, rate: float) -> float:
        """Seconds to wait after so many bytes for the connection to give `rate`; a late wake-up is made good."""
        now = time.monotonic()
        self._due = max(self._due, now - _CREDIT_SECONDS) + count / rate
        return max(0.0, self._due - now)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a reset instead of a farewell."""
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
