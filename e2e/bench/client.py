"""The floor: raw requests, kept as busy as the API server can take them."""

import asyncio
import json
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Self

import aiohttp
import yaml

from e2e.cluster import Cluster, ClusterError
from e2e.cluster.cluster import to_stderr
from e2e.operator_process import ACCOUNT, NAMESPACE
from inference_fleet.api import labels
from inference_fleet.clients.kube import CHILD_KINDS

Json = dict[str, Any]

APPLY = "application/apply-patch+yaml"
CONCURRENCY = 32
"""Requests under way at once; more bring no more writes per second from an API server on few cores."""
_TOLD_EVERY = 5.0


class Client:
    """One connection pool to the API server, as the administrator or another holder of a token."""

    def __init__(self, cluster: Cluster, token: str) -> None:
        """Connect on first use."""
        self._server = cluster.server
        self._context = ssl.create_default_context(cafile=str(cluster.ca_file))
        self._headers = {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        connector = aiohttp.TCPConnector(limit=CONCURRENCY, ssl=self._context)
        self._session = aiohttp.ClientSession(self._server, connector=connector, headers=self._headers)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, method: str, path: str, body: bytes, content_type: str = "application/json") -> bytes:
        """Send one request; an answer from 400 up is a ClusterError."""
        if self._session is None:
            raise RuntimeError("the client is used outside its context")
        headers = {"Content-Type": content_type}
        async with self._session.request(method, path, data=body, headers=headers) as answer:
            text = await answer.read()
        if answer.status >= 400:
            raise ClusterError(f"{method} {path}: {answer.status} {text[:300].decode(errors='replace')}")
        return text

    async def create_services(self, services: Sequence[Json], namespace: str) -> list[Json]:
        """Create InferenceServices as fast as it goes. Gives them as the server stored them."""
        path = f"/apis/{labels.API_VERSION}/namespaces/{namespace}/{labels.PLURAL}"
        bodies = [json.dumps(service).encode() for service in services]
        answers = await side_by_side([_bind(self.send, "POST", path, body) for body in bodies], "services")
        return [json.loads(answer) for answer in answers]

    async def apply_children(self, manifests: Sequence[Json]) -> None:
        """Apply children as the operator does: server-side, under its field manager, without force."""
        requests = [(f"{_path(manifest)}?fieldManager={labels.FIELD_MANAGER}", manifest) for manifest in manifests]
        calls = [_bind(self.send, "PATCH", path, json.dumps(body).encode(), APPLY) for path, body in requests]
        await side_by_side(calls, "children")


async def side_by_side(calls: Sequence[Callable[[], Awaitable[bytes]]], what: str) -> list[bytes]:
    """Make the calls in order, CONCURRENCY at a time, telling how far they are. The first failure is raised."""
    answers: list[bytes] = [b""] * len(calls)
    waiting = iter(enumerate(calls))
    begin = told = time.monotonic()

    async def worker() -> None:
        nonlocal told
        for index, call in waiting:
            answers[index] = await call()
            if time.monotonic() - told > _TOLD_EVERY:
                told = time.monotonic()
                to_stderr(f"{told - begin:6.0f} s  {index + 1:,} of {len(calls):,} {what} are written")

    await asyncio.gather(*(worker() for _ in range(CONCURRENCY)))
    return answers


def operator_token(cluster: Cluster) -> str:
    """A token of the operator's account: the floor goes through the same authorisation and the same queue."""
    kubeconfig = yaml.safe_load(cluster.service_account_kubeconfig(NAMESPACE, ACCOUNT).read_text())
    token: str = kubeconfig["users"][0]["user"]["token"]
    return token


def _path(manifest: Json) -> str:
    meta = manifest["metadata"]
    return CHILD_KINDS[manifest["kind"]].path(meta["namespace"], meta["name"])


def _bind(send: Callable[..., Awaitable[bytes]], *arguments: Any) -> Callable[[], Awaitable[bytes]]:
    return lambda: send(*arguments)
