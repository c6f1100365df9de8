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
from inference_fleet.modelcache.space import Policy
from inference_fleet.modelcache.store import Credentials, Location, Patience, open_store
from inference_fleet.resources.quantity import to_bytes

CREDENTIALS_DIR = "INFERENCE_FLEET_CREDENTIALS_DIR"
TERMINATION_LOG = Path("/dev/termination-log")
"""Where Kubernetes reads the last words of a container."""

EXIT_TERMINATED = 128 + signal.SIGTERM

leave = os._exit
"""How the process ends: at once. A thread of obstore may still be dropping what the last request gave to Python, and
an interpreter that takes itself apart meanwhile aborts the process, one failure in three measured."""


@click.command("pull")
@click.argument("uri")
@click.argument("dest", type=click.Path(path_type=Path))
@click.option("--digest", help="Refuse other bytes than these: sha256:<hex>, as the operator read them.")
@click.option("--verify", is_flag=True, help="Read every byte of the copy; fetch it again if it is damaged.")
@click.option(
    "--size-limit",
    envvar="INFERENCE_FLEET_CACHE_SIZE_LIMIT",
    help="The most that all models beside DEST may take, such as 500Gi; older ones are evicted.",
)
@click.option(
    "--high-watermark",
    type=click.FloatRange(1, 100),
    envvar="INFERENCE_FLEET_CACHE_HIGH_WATERMARK",
    help="Percent of the disk beyond which older models are evicted.",
)
@click.option(
    "--low-watermark",
    type=click.FloatRange(0, 100),
    envvar="INFERENCE_FLEET_CACHE_LOW_WATERMARK",
    help="Percent down to which they then are (default: the high watermark).",
)
@click.option(
    "--keep-hours",
    type=click.FloatRange(0),
    default=24.0,
    show_default=True,
    envvar="INFERENCE_FLEET_CACHE_KEEP_HOURS",
    help="Never evict what a pull has asked for within this time.",
)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", help="How the result is printed.")
def command(
    uri: str,
    dest: Path,
    digest: str | None,
    verify: bool,
    size_limit: str | None,
    high_watermark: float | None,
    low_watermark: float | None,
    keep_hours: float,
    output: str,
) -> None:
    """Fetch the model at URI (s3://BUCKET/PREFIX or a folder) to the directory DEST, whole or not at all.

    A whole copy that is there already is kept; what a killed pull has left is resumed; of several pulls of one model
    on a node one fetches. Without --size-limit and --high-watermark nothing is evicted.

    Reads AWS_ENDPOINT_URL, AWS_REGION, AWS_CA_BUNDLE, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN;
    the last three also from files of these names in the directory that INFERENCE_FLEET_CREDENTIALS_DIR names. Without
    credentials requests are anonymous.
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
    policy = _policy(size_limit, high_watermark, low_watermark, keep_hours)
    started = time.monotonic()
    try:
        pulled = asyncio.run(_pull(location, dest, digest, policy, verify))
    except ModelError as error:
        _report(error, TERMINATION_LOG)
        status = 1
    except asyncio.CancelledError:
        click.echo("inference-fleet: pull: stopped; nothing was published. The next pull resumes.", err=True)
        status = EXIT_TERMINATED
    else:
        _print(pulled, dest, time.monotonic() - started, output)
        status = 0
    sys.stdout.flush()
    sys.stderr.flush()
    leave(status)


async def _pull(location: Location, dest: Path, digest: str | None, policy: Policy, verify: bool) -> Pulled:
    # As the first process of a container, Python would ignore SIGTERM and be killed at the end of the grace period.
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    credentials = read_credentials(os.environ) if isinstance(location, S3Location) else None
    store = open_store(location, credentials, _ca_bundle(), Patience(retries=0))
    with shown_progress() as begin:
        return await pull_model(store, location, dest, digest, begin, policy, verify)


def _policy(size_limit: str | None, high: float | None, low: float | None, keep_hours: float) -> Policy:
    if low is not None and (high is None or low > high):
        raise BadInput(f"pull: --low-watermark {low:g} needs a --high-watermark that is not below it.")
    try:
        limit = None if size_limit is None else to_bytes(size_limit)
    except ValueError as error:
        raise BadInput(f"pull: --size-limit {error}.") from None
    return Policy(limit, high and high / 100, None if low is None else low / 100, keep_hours * 3600)


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
        click.echo(json.dumps(_result(pulled, dest, seconds)))
        return
    how = "already there" if pulled.cached else f"fetched in {seconds:.1f} s"
    if pulled.resumed:
        how += f" ({pulled.resumed:,} bytes of it by a pull that was stopped)"
    if pulled.evicted.versions:
        how += f", {pulled.evicted.versions} older evicted ({pulled.evicted.bytes:,} bytes)"
    click.echo(f"{dest}: {pulled.files} files, {pulled.bytes:,} bytes, {how}, {pulled.digest}")


def _result(pulled: Pulled, dest: Path, seconds: float) -> dict[str, object]:
    return {
        "path": str(dest),
        "digest": pulled.digest,
        "bytes": pulled.bytes,
        "files": pulled.files,
        "cached": pulled.cached,
        "seconds": round(seconds, 3),
        "cacheHit": pulled.cache_hit,
        "fetchedBytes": pulled.fetched,
        "resumedBytes": pulled.resumed,
        "retries": pulled.retries,
        "evictions": pulled.evicted.versions,
        "evictedBytes": pulled.evicted.bytes,
    }
