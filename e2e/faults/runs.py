"""Seeded runs: a fresh cache, one thing that goes wrong, then a pull in fair weather that must succeed."""

import contextlib
import os
import random
import secrets
import shutil
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster import S3
from e2e.faults.node import BUCKET, BrokenError, Node, random_model
from e2e.faults.proxy import Proxy, Weather
from e2e.faults.scenarios import SCENARIOS

_DISK_BYTES = 64 << 20
_TOLD_EVERY = 100


@dataclass
class Tally:
    """What happened in all runs of one scenario."""

    runs: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    totals: Counter[str] = field(default_factory=Counter)
    broken: list[str] = field(default_factory=list)


def run(
    s3: S3, runs: int, seed: int = 0, names: list[str] | None = None, tell: Callable[[str], None] = lambda _: None
) -> dict[str, Tally]:
    """All scenarios in turn, as often as it takes; by name what came of them. `tell` hears how far it is."""
    chosen = names or list(SCENARIOS)
    tallies: dict[str, Tally] = {name: Tally() for name in chosen}
    with small_disk() as (disk, is_disk), Proxy(s3.port, seed).running() as proxy:
        for number in range(runs):
            name = chosen[number % len(chosen)]
            if name == "full disk" and not is_disk:
                name = "quota"  # no file system of our own could be mounted
            if number and number % _TOLD_EVERY == 0:
                tell(f"{number} of {runs} runs, {sum(len(tally.broken) for tally in tallies.values())} broken")
            _run_one(s3, proxy, disk, name, f"{seed}/{number}", tallies.setdefault(name, Tally()))
    return tallies


def _run_one(s3: S3, proxy: Proxy, disk: Path, name: str, seed: str, tally: Tally) -> None:
    chance = random.Random(f"{seed}/{name}")  # noqa: S311 - the run can be repeated
    here = disk if name == "full disk" else Path(tempfile.gettempdir())
    work = here / f"inference-fleet-faults-{secrets.token_hex(6)}"
    (work / "cache").mkdir(parents=True)
    node = Node(s3, proxy, work / "cache", f"m/{secrets.token_hex(6)}", chance, {})
    tally.runs += 1
    try:
        node.store(random_model(chance))
        SCENARIOS[name](node)
        proxy.weather = Weather()
        last = node.pull()
        if last.status:
            raise BrokenError(f"the pull in fair weather failed: {last.said}")
        node.check_whole()
    except BrokenError as broken:
        tally.broken.append(f"seed {seed}, {name}: {broken}")
    finally:
        proxy.weather = Weather()
        tally.outcomes.update(node.outcomes)
        tally.totals.update(node.totals)
        shutil.rmtree(work, ignore_errors=True)
        for key in node.files:
            s3.store(BUCKET).delete(f"{node.prefix}/{key}")


@contextlib.contextmanager
def small_disk() -> Iterator[tuple[Path, bool]]:
    """A file system of 64 MiB to fill, where this process may mount one; else a directory, and False."""
    path = Path(tempfile.mkdtemp(prefix="inference-fleet-disk-"))
    options = ["-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", str(path)]
    mounted = (
        os.geteuid() == 0 and subprocess.run(["mount", *options], capture_output=True, check=False).returncode == 0
    )
    try:
        yield path, mounted
    finally:
        if mounted:
            deadline = time.monotonic() + 10
            while subprocess.run(["umount", str(path)], capture_output=True, check=False).returncode:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.1)
        shutil.rmtree(path, ignore_errors=True)
