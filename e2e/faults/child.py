"""One `pull` as a process of its own, made by fork from one that has imported everything: 10 ms instead of 400.

It runs the command itself. What is made small is the size of ranges and the pauses between retries, so that a model of
some MiB has as many ranges as one of some hundred GiB.
"""

import fcntl
import multiprocessing
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from inference_fleet.cli import pull
from inference_fleet.modelcache import ranges, retry, transfer

RANGE_BYTES = 128 << 10

_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload([__name__])


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is wrong on the node: locks that do nothing, files that may not grow beyond so many bytes."""

    locks: bool = True
    file_limit: int | None = None


def start(
    arguments: Sequence[str], environment: Mapping[str, str], output: Path, conditions: Conditions
) -> ForkServerProcess:
    """Start a pull whose stdout and stderr go to `output`.out and .err."""
    process = _FORKSERVER.Process(target=_run, args=(list(arguments), dict(environment), output, conditions))
    process.start()
    return process


def _run(arguments: list[str], environment: dict[str, str], output: Path, conditions: Conditions) -> None:
    for number, suffix in ((1, ".out"), (2, ".err")):
        descriptor = os.open(output.with_suffix(suffix), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(descriptor, number)
    sys.stdout = os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w")
    os.environ.update(environment)
    vars(ranges).update(RANGE_BYTES=RANGE_BYTES)
    vars(retry).update(FIRST_PAUSE_SECONDS=0.002)
    vars(transfer).update(_CHUNK_BYTES=RANGE_BYTES >> 2)
    if not conditions.locks:
        vars(fcntl).update(flock=lambda descriptor, operation: None)
    if conditions.file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (conditions.file_limit, conditions.file_limit))
    pull.command(arguments, prog_name="pull")
