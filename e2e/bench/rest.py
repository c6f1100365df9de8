"""A fleet to which nothing happens, and a restart of the operator over it.

At rest the operator must not write, and hardly compute. The look at every service that it takes once per resync period
does not fall into one minute; its share of a core is the CPU time of one pass, taken from the restart, over the period.
A restart is over when the operator says it is ready, has reconciled every service and has nothing left to do.
"""

import re
import time

from e2e.bench import procfs
from e2e.bench.report import Figure
from e2e.bench.stage import Stage, by_operator, of_lease
from e2e.cluster import ClusterError
from e2e.cluster.cluster import to_stderr
from inference_fleet.settings import Settings

NAME = "rest"
_WINDOW_SECONDS = 60.0
_AFTER_RESTART_SECONDS = 10.0
_RESTART_TIMEOUT_SECONDS = 120.0
_RESYNC_SECONDS: int = Settings.model_fields["resync_seconds"].default


def run(stage: Stage) -> list[Figure]:
    """Measure a minute at rest, then the restart."""
    to_stderr(f"{NAME}: waiting until everything is Ready")
    stage.settle()
    to_stderr(f"{NAME}: watching for {_WINDOW_SECONDS:g} s")
    log, before, begin = stage.audit(), procfs.usage(stage.operator.pid), time.monotonic()
    time.sleep(_WINDOW_SECONDS)
    after, seconds = procfs.usage(stage.operator.pid), time.monotonic() - begin
    share = 100 * (after.cpu_seconds - before.cpu_seconds) / seconds
    seen = log.new()
    scrape = _scrape_seconds(stage)
    restart_seconds, pass_seconds, fresh = _restart(stage)
    resync_share = 100 * pass_seconds / _RESYNC_SECONDS
    late_writes = sum(map(by_operator, log.new()))
    return [
        Figure(NAME, f"writes in {_WINDOW_SECONDS:g} s", sum(map(by_operator, seen)), "", 0, below=False),
        Figure(NAME, f"renewals of the Lease in {_WINDOW_SECONDS:g} s", sum(map(of_lease, seen)), ""),
        Figure(NAME, "CPU, of one core", share, "%", 1),
        Figure(NAME, "CPU with the share of a resync, at most", share + resync_share, "%", 1),
        Figure(NAME, "memory", after.rss_mb, "MB", 150),
        Figure(NAME, "memory after a restart", fresh.rss_mb, "MB", 150),
        Figure(NAME, "restart: until all is looked at", restart_seconds, "s", 10),
        Figure(NAME, "restart: writes", late_writes, "", 0, below=False),
        Figure(NAME, "restart: CPU", pass_seconds, "s"),
        Figure(NAME, "CPU of one scrape of /metrics", scrape, "s"),
    ]


def _restart(stage: Stage) -> tuple[float, float, procfs.Usage]:
    """Wall time and CPU time until everything was looked at, and the process a while later."""
    stage.operator.stop()
    begin = time.monotonic()
    stage.operator.start()
    deadline = begin + _RESTART_TIMEOUT_SECONDS
    while not _all_seen(stage):
        if time.monotonic() > deadline:
            raise ClusterError(f"the operator did not look at every service within {_RESTART_TIMEOUT_SECONDS:g} s")
        time.sleep(0.2)
    seconds, cpu = time.monotonic() - begin, procfs.usage(stage.operator.pid).cpu_seconds
    time.sleep(_AFTER_RESTART_SECONDS)
    return seconds, cpu, procfs.usage(stage.operator.pid)


def _all_seen(stage: Stage) -> bool:
    metrics = _metrics(stage)
    done = metrics.get('inference_fleet_reconcile_total{result="ok"}', 0)
    return done >= stage.count and metrics["inference_fleet_workqueue_depth"] == 0


def _metrics(stage: Stage) -> dict[str, float]:
    text = stage.operator.answers("metrics") or ""
    return {name: float(value) for name, value in re.findall(r"^(inference_fleet_\S+) (\S+)$", text, re.MULTILINE)}


def _scrape_seconds(stage: Stage) -> float:
    before = procfs.usage(stage.operator.pid)
    _metrics(stage)
    return procfs.usage(stage.operator.pid).cpu_seconds - before.cpu_seconds
