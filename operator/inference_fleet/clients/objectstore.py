"""The operator's look at a model in its store: digest, sizes, config; a few KB, never the weights."""

import asyncio
import contextlib
import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import obstore

from inference_fleet.api.conditions import Reason
from inference_fleet.clients.storeaddress import Network, refused_address
from inference_fleet.clients.storeguard import StoreGuard
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.keys import S3Location
from inference_fleet.modelcache.listing import Listing
from inference_fleet.modelcache.store import (
    STORE_ERRORS,
    Credentials,
    Patience,
    Store,
    list_model,
    open_store,
    store_error,
)

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"

READ_SECONDS = 20.0
"""The whole look at a model; a store that takes longer is unreachable for now and tried again later."""

MAX_FILE_BYTES = 16 << 20
"""The largest index known (90,000 tensors) is 9 MB."""

MAX_ANSWER_BYTES = 64 << 20
"""Listing, config and index together."""

_PATIENCE = Patience(
    connect=timedelta(seconds=5),
    read=timedelta(seconds=10),
    request=timedelta(seconds=READ_SECONDS),
    retries=2,
    retry_window=timedelta(seconds=10),
)

_REASONS = {
    Failure.MODEL_MISSING: Reason.MODEL_MISSING,
    Failure.MODEL_CHANGED: Reason.RESOLVING,
    Failure.MODEL_KEY_REFUSED: Reason.MODEL_KEY_REFUSED,
    Failure.STORE_FORBIDDEN: Reason.STORE_FORBIDDEN,
}


@dataclass(frozen=True, slots=True)
class StoredModel:
    """What the store tells about a model. `config` and `index` are None where there is no such file."""

    digest: str
    bytes: int
    weights: dict[str, int]
    """Sizes of the weight files by name."""
    config: dict[str, Any] | None
    index: dict[str, Any] | None


class StoreError(Exception):
    """Why a model could not be read: the reason and message of a condition, without secrets or file contents."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


async def read_model(
    location: S3Location,
    credentials: Credentials | None,
    ca_pem: bytes | None = None,
    *,
    allowed: Sequence[Network] = (),
    api_server: Sequence[str] = (),
) -> StoredModel:
    """Read a model's listing, config and index, in bounded time and memory.

    `allowed` are networks that the installation permits although their addresses are refused otherwise;
    `api_server` are the hosts of the Kubernetes API, names or addresses.

    Raises:
        StoreError: always with a sentence for the status.
    """
    kubernetes = await _addresses(api_server)
    guard = StoreGuard(partial(refused_address, allowed=allowed, api_server=kubernetes), MAX_ANSWER_BYTES)
    try:
        async with asyncio.timeout(READ_SECONDS), guard.listening() as proxy:
            store = open_store(location, credentials, ca_pem, _PATIENCE, proxy)
            listing = await list_model(store, location)
            config = await _read_json(store, location, listing, CONFIG)
            index = await _read_json(store, location, listing, INDEX)
    except TimeoutError:
        raise StoreError(Reason.STORE_UNREACHABLE, f"{location} could not be read in {READ_SECONDS:.0f} s.") from None
    except ModelError as error:
        raise _explained(error, guard, location) from error
    return StoredModel(listing.digest, listing.bytes, listing.weights(), config, index)


async def _addresses(hosts: Sequence[str]) -> list[str]:
    """The IP addresses of hosts; a name that does not resolve now reaches nothing either."""
    loop = asyncio.get_running_loop()
    found: list[str] = []
    for host in filter(None, hosts):
        with contextlib.suppress(OSError):
            entries = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            found += [str(entry[4][0]).partition("%")[0] for entry in entries]
    return found


def _explained(error: ModelError, guard: StoreGuard, location: S3Location) -> StoreError:
    # The guard knows better than the client, which has only seen a closed door.
    if guard.refusal:
        return StoreError(Reason.STORE_ADDRESS_REFUSED, f"The store of {location} is refused: {guard.refusal}.")
    if guard.overflowed:
        sentence = f"The store of {location} answers with more than {MAX_ANSWER_BYTES >> 20} MiB about the model."
        return StoreError(Reason.STORE_UNREACHABLE, sentence)
    if guard.unreachable:
        return StoreError(Reason.STORE_UNREACHABLE, f"The store of {location} cannot be reached: {guard.unreachable}.")
    return StoreError(_REASONS.get(error.failure, Reason.STORE_UNREACHABLE), error.message)


async def _read_json(store: Store, location: S3Location, listing: Listing, name: str) -> dict[str, Any] | None:
    file = next((file for file in listing.files if file.name == name), None)
    if file is None:
        return None
    data = bytearray()
    try:
        result = await obstore.get_async(store, file.key, options={"if_match": file.etag} if file.etag else {})
        async for chunk in result.stream(min_chunk_size=1 << 20):
            data += chunk
            if len(data) > MAX_FILE_BYTES:
                raise StoreError(
                    Reason.MODEL_CONFIG_INVALID, f"{name} of {location} is larger than {MAX_FILE_BYTES >> 20} MiB."
                )
    except STORE_ERRORS as error:
        raise store_error(error, location) from error
    return await asyncio.to_thread(_parse, data, name, location)


def _parse(data: bytearray, name: str, location: S3Location) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise StoreError(Reason.MODEL_CONFIG_INVALID, f"{name} of {location} is not a JSON object.")
    return value
