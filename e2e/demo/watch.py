"""Watches of the API server whose events carry the moment at which they arrived here."""

import contextlib
import http.client
import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from e2e.cluster import Cluster, ClusterError

Json = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """A change of one object. `at` is this process's monotonic clock, in seconds."""

    at: float
    type: str
    object: Json


class Watch:
    """Events of several lists in one stream, from now on; a context manager that ends them.

    All streams end in one process with one clock, so that the time between two events of different kinds means
    something. Each has a connection of its own.
    """

    def __init__(self, cluster: Cluster, paths: Sequence[str]) -> None:
        """`paths` are lists as the API server knows them, selectors included."""
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._connections: list[http.client.HTTPSConnection] = []
        for path in paths:
            separator = "&" if "?" in path else "?"
            version = cluster.api.request("GET", path)["metadata"]["resourceVersion"]
            since = f"{path}{separator}watch=1&resourceVersion={version}&timeoutSeconds=3600"
            response = self._open(cluster, since)
            threading.Thread(target=self._follow, args=[response], name=f"watch {path}", daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for connection in self._connections:
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def next(self, seconds: float) -> Event | None:
        """The next event; None if there is none within that time."""
        try:
            return self._events.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None

    def _open(self, cluster: Cluster, path: str) -> http.client.HTTPResponse:
        address = urlsplit(cluster.server)
        context = ssl.create_default_context(cafile=str(cluster.ca_file))
        connection = http.client.HTTPSConnection(address.hostname or "", address.port, timeout=3700, context=context)
        self._connections.append(connection)
        connection.request("GET", path, headers={"Authorization": f"Bearer {cluster.admin_token}"})
        response = connection.getresponse()
        if response.status != http.client.OK:
            raise ClusterError(f"watching {path} was refused: {response.status} {response.reason}")
        return response

    def _follow(self, response: http.client.HTTPResponse) -> None:
        """Read until the other side, or `__exit__`, closes; a stream that breaks shows as a missing event."""
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            while line := response.readline():
                at = time.monotonic()
                event = json.loads(line)
                self._events.put(Event(at, event["type"], event["object"]))
