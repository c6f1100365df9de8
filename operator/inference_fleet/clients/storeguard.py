"""A guard on the way to a store: every connection of one read goes through it and is checked where it is made.

Checking the endpoint's address beforehand is not enough. obstore follows redirects to any host, and a name may resolve
to another address a moment later. So the store's client is given this proxy on loopback, which resolves each host,
refuses what `refused_address` refuses, and connects to the very addresses it has checked. TLS stays between client
and store (CONNECT). What passes is bounded, so that an endless answer cannot fill the operator's memory.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

HEAD_LIMIT = 64 << 10
_PIECE = 64 << 10

Judge = Callable[[str], str | None]
"""An IP address to why it is refused, or None."""


class StoreGuard:
    """Counts and judges the connections of one read. Its fields tell afterwards what went wrong."""

    def __init__(self, judge: Judge, max_bytes: int) -> None:
        self._judge = judge
        self._bytes_left = max_bytes
        self._connections: set[asyncio.Task[None]] = set()
        self.refusal: str | None = None
        self.overflowed = False
        self.unreachable: str | None = None

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """The URL of the proxy, while it listens."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_LIMIT)
        port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            # ValueError: a redirect to what is no URL.
            with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                await self._relay(reader, writer)
        finally:
            writer.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        line, _, headers = head.partition(b"\r\n")
        method, target, version = line.decode("latin-1").split(" ")
        tunnel = method == "CONNECT"
        url = urlsplit(f"//{target}" if tunnel else target)
        upstream = await self._connect(url.hostname or "", url.port or 80)
        if upstream is None:
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
            return
        far_reader, far_writer = upstream
        try:
            if tunnel:
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            else:
                # One request per connection: the next one, perhaps to another host, is judged anew.
                path = (url.path or "/") + (f"?{url.query}" if url.query else "")
                far_writer.write(f"{method} {path} {version}\r\nConnection: close\r\n".encode("latin-1") + headers)
            up = asyncio.create_task(self._pump(reader, far_writer))
            try:
                await self._pump(far_reader, writer, counted=True)
            finally:
                up.cancel()
                await asyncio.gather(up, return_exceptions=True)
        finally:
            far_writer.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            self.unreachable = f"the name {host!r} does not resolve"
            return None
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        for address in addresses:
            if reason := self._judge(address):
                self.refusal = f"{host!r} is {reason}" if host == address else f"{host!r} ({address}) is {reason}"
                return None
        for address in addresses:
            try:
                connection = await asyncio.open_connection(address, port)
            except OSError as error:
                self.unreachable = f"{host}:{port}: {error.strerror or 'no connection'}"
            else:
                self.unreachable = None
                return connection
        return None

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, counted: bool = False) -> None:
        while piece := await reader.read(_PIECE):
            if counted:
                self._bytes_left -= len(piece)
                if self._bytes_left < 0:
                    self.overflowed = True
                    return
            writer.write(piece)
            await writer.drain()
