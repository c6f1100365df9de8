"""The object store: opened through obstore, listed, and its errors put in our words.

Both the operator and `pull` read through here, so that they see the same listing and the same digest.
"""

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import obstore
from obstore.exceptions import (
    BaseError,
    InvalidPathError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import LocalStore, S3Store

from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.keys import LocalLocation, S3Location
from inference_fleet.modelcache.listing import Listing, Row, read_listing

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Credential

Location = S3Location | LocalLocation
Store = S3Store | LocalStore

STORE_ERRORS = (BaseError, FileNotFoundError, ValueError)
"""What obstore raises. Its FileNotFoundError is an answer of the store, not of the local disk."""

_LIST_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys of an S3 store; never shown by repr."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long the store gets. Retries are obstore's own: 5xx, resets and time-outs, with backoff and jitter.

    A pull sets them to 0: it counts what it repeats, and goes on in the middle of a range.
    """

    connect: timedelta = timedelta(seconds=5)
    read: timedelta = timedelta(seconds=30)
    """Without a byte for this long, a read is tried again from where it stopped."""
    request: timedelta = timedelta(hours=24)
    """One whole request, its body included: a large file takes as long as it takes."""
    retries: int = 6
    retry_window: timedelta = timedelta(minutes=3)


def open_store(
    location: Location,
    credentials: Credentials | None,
    ca_pem: bytes | None = None,
    patience: Patience = Patience(),
    proxy_url: str | None = None,
) -> Store:
    """A client of the location's store; nothing is sent yet. Without credentials requests are not signed.

    Raises:
        ModelError: when the folder does not exist.
    """
    if isinstance(location, LocalLocation):
        try:
            return LocalStore(location.path)
        except STORE_ERRORS as error:
            raise ModelError(Failure.MODEL_MISSING, f"Folder {location.path!r} does not exist.") from error
    client: ClientConfig = {
        "allow_http": (location.endpoint or "").startswith("http://"),
        "connect_timeout": patience.connect,
        "read_timeout": patience.read,
        "timeout": patience.request,
    }
    if ca_pem:
        client["root_certificate"] = ca_pem
    if proxy_url:
        client["proxy_url"] = proxy_url
    # The endpoint is given twice because obstore lets AWS_ENDPOINT_URL_S3 of the environment win over `endpoint`.
    endpoint = {"endpoint": location.endpoint, "aws_endpoint_url_s3": location.endpoint} if location.endpoint else {}
    options: dict[str, Any] = {
        "region": location.region,
        "virtual_hosted_style_request": location.endpoint is None and "." not in location.bucket,
        "skip_signature": credentials is None,
        "client_options": client,
        "retry_config": {"max_retries": patience.retries, "retry_timeout": patience.retry_window},
        **endpoint,
    }
    try:
        if credentials is None:
            return S3Store(location.bucket, **options)
        return S3Store(location.bucket, credential_provider=_provider(credentials), **options)
    except STORE_ERRORS as error:
        raise ModelError(Failure.STORE_UNREACHABLE, f"The client of {location} cannot be set up: bad CA?") from error


def _provider(credentials: Credentials) -> "Callable[[], S3Credential]":
    # A provider keeps the keys out of the store's own configuration, and an AWS_SESSION_TOKEN of the environment out
    # of requests that are signed with other keys.
    def provide() -> "S3Credential":
        return {
            "access_key_id": credentials.access_key_id,
            "secret_access_key": credentials.secret_access_key,
            "token": credentials.session_token,
            "expires_at": None,
        }

    return provide


async def list_model(store: Store, location: Location) -> Listing:
    """The model under a location: all pages of the listing, or the one object of that exact key.

    Raises:
        ModelError: the store cannot be listed, or what lies there is no model.
    """
    prefix = location.prefix if isinstance(location, S3Location) else ""
    rows: list[Row] = []
    try:
        async for chunk in obstore.list(store, prefix or None, chunk_size=_LIST_CHUNK):
            rows.extend(Row(meta["path"], meta["size"], meta["e_tag"] or "") for meta in chunk)
        if not rows and prefix:
            try:
                meta = await obstore.head_async(store, prefix)
            except FileNotFoundError:
                pass
            else:
                rows.append(Row(meta["path"], meta["size"], meta["e_tag"] or ""))
    except STORE_ERRORS as error:
        raise store_error(error, location) from error
    return await asyncio.to_thread(read_listing, location, rows)


def store_error(error: Exception, location: Location) -> ModelError:
    """What an error of obstore means for the user.

    obstore tells some kinds by type and the rest only in its text. That text also carries the body that the server
    sent, so nothing of it is passed on but the HTTP status and an S3 error code of letters.
    """
    text = str(error)
    where = _where(location)
    status = _match(r"non-2xx status code: (\d{3})", text)
    code = _match(r"<Code>([A-Za-z]{1,64})</Code>", text)
    answer = f"HTTP {status}" + (f" {code}" if code else "")
    if isinstance(error, InvalidPathError):
        return ModelError(
            Failure.MODEL_KEY_REFUSED,
            f"{location} lists a key that is no safe file name: an empty part, '.', '..' or a control character.",
        )
    if isinstance(error, PreconditionError):
        return ModelError(Failure.MODEL_CHANGED, f"An object of {location} was replaced while it was read.")
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or status in ("401", "403"):
        return ModelError(Failure.STORE_FORBIDDEN, f"{where} refuses to show {location} ({answer}): check credentials.")
    if isinstance(error, FileNotFoundError) or status == "404":
        missing = "bucket" if code == "NoSuchBucket" else "object"
        return ModelError(Failure.MODEL_MISSING, f"{where} has no such {missing}: {location} ({answer}).")
    if status:
        again = status.startswith("5") or status in ("408", "429")
        return ModelError(Failure.STORE_UNREACHABLE, f"{where} answers {answer} for {location}.", transient=again)
    meaning = _transport(text)
    return ModelError(Failure.STORE_UNREACHABLE, f"{where} cannot be read: {meaning}.", transient="TLS" not in meaning)


_TRANSPORT = (
    (r"dns error|failed to lookup", "its name does not resolve"),
    (r"code: 111\b|ConnectionRefused", "connection refused"),
    (r"certificate|UnknownIssuer|InvalidCertificate", "its TLS certificate is not trusted"),
    (r"InvalidMessage|InvalidContentType|HandshakeFailure|AlertReceived", "it does not speak TLS on this port"),
    (r"code: 11[03]\b|TimedOut|timed out", "no answer in time"),
    (r"code: 101\b|code: 113\b", "no route to it"),
    (r"ConnectionReset|IncompleteMessage|UnexpectedEof|code: 104\b|IncompleteBody", "the connection broke"),
)


def _transport(text: str) -> str:
    for pattern, meaning in _TRANSPORT:
        if re.search(pattern, text):
            return meaning
    return "the connection failed"


def _match(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else ""


def _where(location: Location) -> str:
    if isinstance(location, LocalLocation):
        return "The folder"
    return f"The store at {location.endpoint}" if location.endpoint else f"AWS S3 in {location.region}"
