"""What tests share: a real control plane, a fresh namespace in it, a real S3 server.

Each is started when the first test asks for it and ends with the test run, however that ends: see
`e2e/cluster/supervisor.py`.
Under pytest-xdist every worker has its own: nothing to share, nothing to count.
"""

import os
import secrets
from collections.abc import Iterator

import pytest

from e2e.cluster import S3, Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """16 simulated nodes of 8 GPUs, an audit log of every write, engines that load in a second."""
    with Cluster.up(name=f"test-{os.getpid()}", audit=True, load_seconds=1) as running:
        yield running


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    """Give a fresh namespace; its deletion is begun afterwards and not waited for."""
    name = f"test-{secrets.token_hex(4)}"
    cluster.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    yield name
    cluster.api.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture(scope="session")
def s3() -> Iterator[S3]:
    """Give an S3 server; the first upload to a bucket makes it."""
    with S3.up() as server:
        yield server
