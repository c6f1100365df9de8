"""Where a model lies and what its copy is called: URIs, the digest of a listing, the cache key."""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

_BUCKET = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$")
_ENDPOINT = re.compile(r"^https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?/?$")
_READABLE_LENGTH = 40


@dataclass(frozen=True, slots=True)
class S3Location:
    """A prefix of a bucket. `prefix` has no slash at either end and may be empty: the whole bucket.

    `endpoint` None stands for AWS S3 of the region.
    """

    bucket: str
    prefix: str
    endpoint: str | None = None
    region: str = "us-east-1"

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


@dataclass(frozen=True, slots=True)
class LocalLocation:
    """A folder of this machine."""

    path: str

    def __str__(self) -> str:
        return self.path


def parse_uri(uri: str, endpoint: str | None = None, region: str | None = None) -> S3Location | LocalLocation:
    """Read a model URI. Empty segments of a prefix are dropped, so `s3://b//m/7b/` is `s3://b/m/7b`.

    A prefix is taken byte for byte otherwise: nothing in it is percent-decoded, as in every S3 tool.

    Raises:
        ValueError: with a sentence that names the value and what would be right.
    """
    scheme, separator, rest = uri.partition("://")
    if not separator:
        if not uri:
            raise ValueError("URI is empty; give s3://BUCKET/PREFIX or a folder.")
        return LocalLocation(uri)
    if scheme == "file":
        if not rest.startswith("/"):
            raise ValueError(f"URI {uri!r} has no absolute path; write file:///PATH.")
        return LocalLocation(rest)
    if scheme != "s3":
        raise ValueError(f"URI {uri!r} has the scheme {scheme!r}; give s3://BUCKET/PREFIX, file:///PATH or a folder.")
    bucket, _, path = rest.partition("/")
    if not _BUCKET.match(bucket):
        raise ValueError(f"URI {uri!r} has the bucket {bucket!r}; a bucket is letters, digits, dots and hyphens.")
    segments = [segment for segment in path.split("/") if segment]
    if any(segment in (".", "..") for segment in segments):
        raise ValueError(f"URI {uri!r} holds '.' or '..'; name the prefix itself.")
    return S3Location(bucket, "/".join(segments), checked_endpoint(endpoint), region or "us-east-1")


def checked_endpoint(endpoint: str | None) -> str | None:
    """An endpoint without its trailing slash; None if it is empty.

    Raises:
        ValueError: when it is not http(s)://HOST[:PORT]. The value is not repeated: it may hold a password.
    """
    if not endpoint:
        return None
    if not _ENDPOINT.match(endpoint):
        raise ValueError("the store endpoint (AWS_ENDPOINT_URL) is not of the form http(s)://HOST[:PORT].")
    return endpoint.rstrip("/")


def listing_digest(rows: Iterable[tuple[str, int, str]]) -> str:
    """`sha256:<hex>` over (relative name, size, ETag), in the order of names.

    An ETag changes whenever an object is written with other bytes, so the digest names the bytes without reading
    them. It is the identity that the operator pins and `pull` compares.
    """
    state = hashlib.sha256()
    for name, size, etag in sorted(rows):
        state.update(json.dumps([name, size, etag.strip('"')]).encode() + b"\n")
    return f"sha256:{state.hexdigest()}"


def cache_key(uri: str, endpoint: str | None, digest: str) -> str:
    """The directory name of a model's copy: the readable end of its URI, and 128 bits over source and digest.

    Source and digest are both covered: with the digest alone, whoever runs a store could present a listing of
    their own under another store's digest and stand in for its bytes.

    Raises:
        ValueError: when the URI or the endpoint is not one of a model.
    """
    location = parse_uri(uri, endpoint)
    if isinstance(location, S3Location):
        source = ["s3", location.endpoint or "", location.bucket, location.prefix]
        last = location.prefix.rpartition("/")[2] or location.bucket
    else:
        source = ["file", location.path]
        last = location.path.rstrip("/").rpartition("/")[2]
    readable = re.sub(r"[^a-z0-9]+", "-", last.lower()).strip("-")[:_READABLE_LENGTH].rstrip("-") or "model"
    return f"{readable}-{hashlib.sha256(json.dumps([*source, digest]).encode()).hexdigest()[:32]}"
