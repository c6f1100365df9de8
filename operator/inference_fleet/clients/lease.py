"""One writer at a time: a Lease that the working operator renews, and that another takes when it stops renewing.

Times on the Lease are only told, never compared: clocks of two machines differ. A candidate measures with its own clock
for how long it has seen no renewal. The holder gives up well before any candidate may take over, so there is a gap and
never an overlap; on an orderly stop it hands the Lease back, and the next one starts at once.
"""

import asyncio
import logging
from datetime import UTC, datetime
from typing import Any

from inference_fleet.clients.kube import ApiError, Kind, KubeClient

logger = logging.getLogger(__name__)

LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases")

DURATION_SECONDS = 15
"""A Lease that was not renewed for this long may be taken."""
GIVE_UP_SECONDS = 10.0
"""A holder that could not renew for this long writes no more."""
RENEW_SECONDS = 4.0
"""Between two renewals."""
RETRY_SECONDS = 1.0
"""Between two looks of a candidate, and after a renewal that failed."""


class Lease:
    """A named Lease, as one process sees it."""

    def __init__(self, client: KubeClient, namespace: str, name: str, identity: str) -> None:
        """`identity` must be this process's own: a pod's name and something that changes with a restart."""
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = 0.0

    async def acquire(self) -> None:
        """Wait until this process holds the Lease."""
        while True:
            if await self._try():
                break
            await asyncio.sleep(RETRY_SECONDS)
        logger.info("%s holds the lease", self._identity)

    async def hold(self) -> None:
        """Renew, and return when the Lease is lost: taken by another, or not renewed in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + GIVE_UP_SECONDS
        renewed = True
        while True:
            await asyncio.sleep(RENEW_SECONDS if renewed else RETRY_SECONDS)
            try:
                async with asyncio.timeout_at(deadline):
                    renewed = await self._try()
            except TimeoutError:
                renewed = False
            if renewed:
                deadline = loop.time() + GIVE_UP_SECONDS
            elif loop.time() >= deadline or self._seen[0] not in ("", self._identity):
                logger.warning("%s lost the lease", self._identity)
                return

    async def release(self) -> None:
        """Hand the Lease back, if this process holds it."""
        try:
            body = await self._client.get(LEASE, self._namespace, self._name)
            if body["spec"].get("holderIdentity") == self._identity:
                body["spec"] |= {"holderIdentity": "", "leaseDurationSeconds": 1}
                await self._client.replace(LEASE, self._namespace, self._name, body)
        except ApiError as error:
            logger.info("the lease was not handed back, it runs out by itself: %s", error)

    async def _try(self) -> bool:
        try:
            return await self._take_or_renew()
        except ApiError as error:
            logger.info("the lease was not written: %s", error)
            return False

    async def _take_or_renew(self) -> bool:
        try:
            body = await self._client.get(LEASE, self._namespace, self._name)
        except ApiError as error:
            if not error.not_found:
                raise
            await self._client.create(LEASE, self._namespace, self._new())
            self._see(self._identity, "")
            return True
        spec = body["spec"]
        holder = spec.get("holderIdentity") or ""
        self._see(holder, spec.get("renewTime") or "")
        if holder not in ("", self._identity) and self._is_alive(spec.get("leaseDurationSeconds") or DURATION_SECONDS):
            return False
        body["spec"] = self._spec(spec, is_new=holder != self._identity)
        # The resource version in the body makes two candidates at once one winner and one conflict.
        await self._client.replace(LEASE, self._namespace, self._name, body)
        self._see(self._identity, body["spec"]["renewTime"])
        return True

    def _see(self, holder: str, renewed: str) -> None:
        if (holder, renewed) != self._seen:
            self._seen = (holder, renewed)
            self._seen_at = asyncio.get_running_loop().time()

    def _is_alive(self, duration: float) -> bool:
        return asyncio.get_running_loop().time() < self._seen_at + duration

    def _new(self) -> dict[str, Any]:
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": self._spec({}, is_new=True),
        }

    def _spec(self, before: dict[str, Any], *, is_new: bool) -> dict[str, Any]:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return before | {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": now,
            **({"acquireTime": now, "leaseTransitions": (before.get("leaseTransitions") or 0) + 1} if is_new else {}),
        }
