"""Fetch an official program and check it against its published SHA-256."""

import hashlib
import http.client
import platform
import shutil
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

CONNECT_SECONDS = 4
MEGABYTE = 1 << 20
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_unreachable: set[str] = set()


class UnavailableError(Exception):
    """The download cannot be had here; building is the other way."""


def fetch(url: str, checksum_url: str, member: str, target: Path, report: Callable[[str], None]) -> None:
    """Write the program to `target`, or raise UnavailableError.

    A site that did not answer once is not asked again by this process: behind a closed firewall every program
    would otherwise cost its own timeout.
    """
    arch = ARCHITECTURES.get(platform.machine())
    if arch is None:
        raise UnavailableError(f"no known build for {platform.machine()}")
    url, checksum_url, member = (text.replace("{arch}", arch) for text in (url, checksum_url, member))
    expected = published_checksum(_text(checksum_url), url.rsplit("/", 1)[-1])
    raw = target.with_name(target.name + ".download")
    try:
        actual = _save(url, raw, report)
        if actual != expected:
            raise UnavailableError(f"{url} has SHA-256 {actual}, but {expected} is published")
        if member:
            with tarfile.open(raw) as archive:
                content = archive.extractfile(member)
                if content is None:
                    raise UnavailableError(f"{member} in {url} is no file")
                with content, target.open("wb") as output:
                    shutil.copyfileobj(content, output)
        else:
            raw.rename(target)
    except (KeyError, tarfile.TarError) as error:
        raise UnavailableError(f"{url} is not the archive it should be: {error}") from error
    finally:
        raw.unlink(missing_ok=True)


def published_checksum(text: str, file: str) -> str:
    """Read a checksum file: the bare hash, or lines of `hash  file`."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    for words in lines:
        if len(words[0]) == 64 and (len(words) == 1 or words[-1].lstrip("*") == file):
            return words[0].lower()
    raise UnavailableError(f"no checksum is published for {file}")


def _open(url: str) -> http.client.HTTPResponse:
    host = urlsplit(url).netloc
    if host in _unreachable:
        raise UnavailableError(f"{host} cannot be reached")
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(url, timeout=CONNECT_SECONDS)  # noqa: S310 - https only
    except urllib.error.HTTPError as error:
        error.close()
        raise UnavailableError(f"{url} answered {error.code}") from error
    except OSError as error:
        _unreachable.add(host)
        raise UnavailableError(f"{host} cannot be reached") from error
    return response


def _text(url: str) -> str:
    try:
        with _open(url) as response:
            return response.read(MEGABYTE).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"{url} broke off: {error}") from error


def _save(url: str, target: Path, report: Callable[[str], None]) -> str:
    digest = hashlib.sha256()
    done = reported = 0
    try:
        with _open(url) as response, target.open("wb") as output:
            total = int(response.headers.get("Content-Length") or 0)
            while block := response.read(MEGABYTE):
                output.write(block)
                digest.update(block)
                done += len(block)
                if done - reported >= 10 * MEGABYTE:
                    reported = done
                    report(f"downloaded {done // MEGABYTE} of {total // MEGABYTE or '?'} MB")
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"{url} broke off: {error}") from error
    return digest.hexdigest()
