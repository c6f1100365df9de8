"""Where binaries and running clusters live on this machine, and which ports are free."""

import os
import random
import re
import socket
from pathlib import Path

from e2e.cluster.errors import ClusterError

APP = "inference-fleet"
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


def cache_dir() -> Path:
    """Binaries are kept per user and by version, so that a second clone builds nothing."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / APP / "bin"


def clusters_dir() -> Path:
    """One folder per running cluster; it goes away with the cluster."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / APP / "clusters"


def cluster_dir(name: str) -> Path:
    """The folder of one cluster, whether it is up or not."""
    if not NAME.fullmatch(name):
        raise ClusterError(f"{name!r} is no cluster name: up to 40 lower-case letters, digits and inner dashes")
    return clusters_dir() / name


def free_ports(count: int, *, low: int = 20_000, high: int = 32_000, also: int | None = None) -> list[int]:
    """Pick ports that nothing listens on, below the range the kernel hands to outgoing connections.

    A port from that range could be taken by any client between this check and the server's own bind.
    With `also`, port + also is free as well (SeaweedFS puts its gRPC port there).
    """
    ports: list[int] = []
    for port in random.sample(range(low, high), high - low):
        if is_free(port) and (also is None or is_free(port + also)):
            ports.append(port)
            if len(ports) == count:
                return ports
    raise ClusterError(f"no {count} free ports between {low} and {high}")


def is_free(port: int) -> bool:
    """Tell whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
