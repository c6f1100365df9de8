"""`inference-fleet pull`: fetch a model into a cache directory; what the init container of every engine pod runs."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path

import click

from inference_fleet.cli import BadInput
from inference_fleet.cli.pullprogress import shown_progress
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.keys import S3Location, parse_uri
from inference_fleet.modelcache.pull import Pulled, pull_model
from inference_fleet.modelcache.store import Credentials, Location, open_store

CREDENTIALS_DIR = "INFERENCE_FLEET_CREDENTIALS_DIR"
TERMINATION_LOG = Path("/dev/termination-log")
"""Where Kubernetes reads the last words of a container."""

EXIT_TERMINATED = 128 + signal.SIGTERM


@click.command("pull")
@click.argument("uri")
@click.argument("dest", type=click.Path(path_type=Path))
@click.option("--digest", help="Refuse other bytes than these: sha256:<hex>, as the operator read them.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How the result is printed.")
def command(uri: str, dest: Path, digest: str | None, output: str) -> None:
    """Fetch the model at URI (s3://BUCKET/PREFIX or a folder) to the directory DEST, whole or not at all.

    A whole copy that is there already is kept. Reads AWS_ENDPOINT_URL, AWS_REGION, AWS_CA_BUNDLE,
    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN; the last three also from files of these names in
    the directory that INFERENCE_FLEET_CREDENTIALS_DIR names. Without credentials requests are anonymous.
    """
    try:
        location = parse_uri(
            uri,
            endpoint=os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"),
            region=os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
        )
    except ValueError as error:
        raise BadInput(f"pull: {error}") from None
    if digest is not None and not digest.startswith("sha256:"):
        raise BadInput(f"pull: --digest {digest!r} is not of the form sha256:<hex>.")
    dest = _destination(dest)
    started = time.monotonic()
    try:
        pulled = asyncio.run(_pull(location, dest, digest))
    except ModelError as error:
        _report(error, TERMINATION_LOG)
        sys.exit(1)
    except asyncio.CancelledError:
        click.echo("inference-fleet: pull: stopped; nothing was published.", err=True)
        sys.exit(EXIT_TERMINATED)
    _print(pulled, dest, time.monotonic() - started, output)


async def _pull(location: Location, dest: Path, digest: str | None) -> Pulled:
    # As the first process of a container, Python would ignore SIGTERM and be killed at the end of the grace period.
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    credentials = read_credentials(os.environ) if isinstance(location, S3Location) else None
    store = open_store(location, credentials, _ca_bundle())
    with shown_progress() as begin:
        return await pull_model(store, location, dest, digest, begin)


def read_credentials(environ: "os._Environ[str] | dict[str, str]") -> Credentials | None:
    """Credentials from mounted files, else from the environment; None if there are none.

    Raises:
        ModelError: one half is missing, or the named directory has none.
    """
    folder = environ.get(CREDENTIALS_DIR)
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    if folder:
        values = [_read_mounted(Path(folder) / name) for name in names]
        where = f"the directory {folder!r}"
    else:
        values = [environ.get(name, "").strip() for name in names]
        where = "the environment"
    key, secret, token = values
    if key and secret:
        return Credentials(key, secret, token or None)
    if key or secret or folder:
        missing = [name for name, value in zip(names[:2], values, strict=False) if not value]
        raise ModelError(Failure.CREDENTIALS_MISSING, f"There is no {' and no '.join(missing)} in {where}.")
    return None


def _read_mounted(path: Path) -> str:
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(Failure.CREDENTIALS_MISSING, f"{str(path)!r} cannot be read.") from error


def _ca_bundle() -> bytes | None:
    path = os.environ.get("AWS_CA_BUNDLE")
    if not path:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"pull: AWS_CA_BUNDLE {path!r} cannot be read: {error.strerror}.") from None


def _destination(dest: Path) -> Path:
    """DEST as an absolute path. What stands there and is no model is replaced, so a few places are refused."""
    dest = dest.parent.absolute().resolve() / dest.name if dest.name not in ("", "..") else dest.resolve()
    if dest.is_mount():
        raise BadInput(f"pull: DEST {str(dest)!r} is a mount point; name a directory inside it.")
    if any(place == dest or dest in place.parents for place in (Path.cwd(), Path(os.environ.get("HOME", "/")))):
        raise BadInput(f"pull: DEST {str(dest)!r} holds the working or home directory; name a directory of its own.")
    return dest


def _report(error: ModelError, termination_log: Path) -> None:
    sentence = f"{error.failure}: {error.message}"
    click.echo(f"inference-fleet: pull: {sentence}", err=True)
    if termination_log.exists():
        with contextlib.suppress(OSError):
            termination_log.write_text(sentence)


def _print(pulled: Pulled, dest: Path, seconds: float, output: str) -> None:
    if output == "json":
        result = {
            "path": str(dest),
            "digest": pulled.digest,
            "bytes": pulled.bytes,
            "files": pulled.files,
            "cached": pulled.cached,
            "seconds": round(seconds, 3),
        }
        click.echo(json.dumps(result))
    else:
        how = "already there" if pulled.cached else f"fetched in {seconds:.1f} s"
        click.echo(f"{dest}: {pulled.files} files, {pulled.bytes:,} bytes, {how}, {pulled.digest}")
