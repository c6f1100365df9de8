"""`inference-fleet pull` against plain clients of the same store, on loopback, with verification on.

Times of whole processes, taken in turn in one run, so that a busy moment of the machine meets all; medians count.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from e2e.bench import procfs
from e2e.bench.report import Figure
from e2e.bench.stage import Stage
from e2e.cluster import S3
from e2e.cluster.cluster import to_stderr
from e2e.faults.proxy import Proxy, Weather
from inference_fleet.modelcache.layout import RANGE_BYTES
from inference_fleet.modelcache.transfer import CONNECTIONS

NAME = "pull"
_BUCKET = "bench"
_ROUNDS = 3
_MIB = 1 << 20
_MODELS = {"large": (8, 128 * _MIB), "seventy": (70, 4 * _MIB), "hundred": (100, 64 << 10)}
"""Files and the size of each."""

_CONNECTION_RATE = 10e6
_LATENCY_SECONDS = 0.18
"""A ninth of what S3 gives on a connection, 90 MB/s, and nine times 20 ms: only the ratio of both counts, and a proxy
written in Python cannot pass 16 times 90 MB/s."""


@dataclass(frozen=True, slots=True)
class _Ran:
    seconds: float
    peak_mb: float
    cpu_seconds: float
    result: dict[str, float]


class _Bench:
    """A store that holds the models, and a directory to pull into."""

    def __init__(self, s3: S3, folder: Path) -> None:
        self._s3 = s3
        self._folder = folder
        self._begin = 0.0
        self.figures: list[Figure] = []

    def fill(self) -> None:
        content = self._folder / "content"
        for model, (files, size) in _MODELS.items():
            content.write_bytes(os.urandom(size))
            names = [f"model-{number:03}.safetensors" for number in range(files)]
            self._s3.put(_BUCKET, {f"{model}/{name}": content for name in names})
            self._s3.put(_BUCKET, {f"{model}/config.json": b"{}"})
        content.unlink()

    def tell(self, what: str, measured: float, unit: str, target: float | None = None, *, below: bool = False) -> None:
        self.figures.append(Figure(NAME, what, measured, unit, target, below))

    def throughput(self, model: str) -> None:
        files, size = _MODELS[model]
        runs: dict[str, list[_Ran]] = {"pull": [], "sequential": [], "nowhere": []}
        for _ in range(_ROUNDS):
            for client, done in runs.items():
                done.append(self.pull(model) if client == "pull" else self._plain(client, model))
        seconds = {client: statistics.median(ran.seconds for ran in done) for client, done in runs.items()}
        label = f"{files} x {size // _MIB} MiB"
        self.tell(f"{label}, pull, verified and synced", files * size / 1e6 / seconds["pull"], "MB/s")
        self.tell(f"{label}, one stream, unverified", files * size / 1e6 / seconds["sequential"], "MB/s")
        self.tell(f"{label}, {CONNECTIONS} streams to nowhere", files * size / 1e6 / seconds["nowhere"], "MB/s")
        self.tell(f"{label}, pull / one stream, time", seconds["pull"] / seconds["sequential"], "x", 1.0)
        self.tell(f"{label}, pull / to nowhere, time", seconds["pull"] / seconds["nowhere"], "x", 1 / 0.9)
        self.tell(f"{label}, peak memory", max(ran.peak_mb for ran in runs["pull"]), "MB", 300)
        cpu = statistics.median(ran.cpu_seconds for ran in runs["pull"])
        self.tell(f"{label}, CPU time per GB", cpu / (files * size / 1e9), "s")

    def shaped(self) -> None:
        files, size = _MODELS["large"]
        with Proxy(self._s3.port).running() as proxy:
            proxy.weather = Weather(connection_rate=_CONNECTION_RATE, latency_seconds=_LATENCY_SECONDS)
            ran = self.pull("large", proxy.endpoint)
        ideal = files * size / (CONNECTIONS * _CONNECTION_RATE)
        self.tell(
            f"{CONNECTIONS} connections of 10 MB/s and 180 ms", files * size / 1e6 / ran.result["seconds"], "MB/s"
        )
        self.tell("time / bytes over connections times rate", ran.result["seconds"] / ideal, "x", 1.1)

    def killed_half_way(self) -> None:
        files, size = _MODELS["large"]
        dest = self._fresh()
        with Proxy(self._s3.port).running() as proxy:
            running = self._start(self._pull_command("large", dest), proxy.endpoint)
            while proxy.passed < files * size // 2:
                time.sleep(0.005)
            running.kill()
            running.communicate()
            self._end(self._start(self._pull_command("large", dest), proxy.endpoint))
            again = proxy.passed - files * size
        self.tell("killed at half, fetched again", again / _MIB, "MiB", CONNECTIONS * RANGE_BYTES / _MIB)

    def four_at_once(self) -> None:
        dest = self._fresh()
        running = [self._start(self._pull_command("large", dest)) for _ in range(4)]
        fetched = sum(self._end(process).result["fetchedBytes"] for process in running)
        files, size = _MODELS["large"]
        self.tell("four pulls at once, bytes fetched / model", fetched / (files * size + 2), "x", 1.0)

    def warm(self) -> None:
        dest = self._fresh()
        self._end(self._start(self._pull_command("hundred", dest)))
        hits = [self._end(self._start(self._pull_command("hundred", dest))) for _ in range(9)]
        self.tell("hit on 100 files, listing included", statistics.median(r.result["seconds"] for r in hits), "s", 0.05)
        self.tell("the same, whole process", statistics.median(ran.seconds for ran in hits), "s")

    def pull(self, model: str, endpoint: str | None = None) -> _Ran:
        return self._end(self._start(self._pull_command(model, self._fresh()), endpoint))

    def _plain(self, mode: str, model: str) -> _Ran:
        folder = self._fresh()
        folder.mkdir()
        command = [sys.executable, "-m", "e2e.bench.plainclient", mode, _BUCKET, f"{model}/", str(folder)]
        return self._end(self._start(command))

    def _pull_command(self, model: str, dest: Path) -> list[str]:
        binary = str(Path(sys.executable).with_name("inference-fleet"))
        return [binary, "pull", f"s3://{_BUCKET}/{model}", str(dest), "--output", "json"]

    def _fresh(self) -> Path:
        """An empty place, on a disk that has nothing left to write for others."""
        shutil.rmtree(self._folder / "dest", ignore_errors=True)
        os.sync()
        return self._folder / "dest"

    def _start(self, command: list[str], endpoint: str | None = None) -> "subprocess.Popen[bytes]":
        environment = {**os.environ, **self._s3.environment}
        if endpoint:
            environment["AWS_ENDPOINT_URL"] = endpoint
        self._begin = time.monotonic()
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def _end(self, process: "subprocess.Popen[bytes]") -> _Ran:
        """Watch a process to its end. Its memory is looked at: what wait4 tells includes that of its parent."""
        peak = cpu = 0.0
        while process.poll() is None:
            usage = procfs.usage(process.pid) if not _is_dying(process.pid) else None
            if usage:
                peak, cpu = max(peak, usage.peak_mb), usage.cpu_seconds
            time.sleep(0.01)
        seconds = time.monotonic() - self._begin
        out, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{process.args!r} ended with {process.returncode}")
        return _Ran(seconds, peak, cpu, json.loads(out) if out else {})


def _is_dying(pid: int) -> bool:
    """Whether a process has given its memory back already."""
    try:
        return "VmHWM" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return True


def run(_: Stage) -> list[Figure]:
    """All of it; a server of its own, no cluster."""
    with S3.up() as s3, tempfile.TemporaryDirectory(prefix="inference-fleet-pull-") as folder:
        bench = _Bench(s3, Path(folder))
        to_stderr(f"{NAME}: filling the store")
        bench.fill()
        for model in ("large", "seventy"):
            to_stderr(f"{NAME}: {model}, {_ROUNDS} rounds of three clients")
            bench.throughput(model)
        to_stderr(f"{NAME}: shaped connections, a kill, four at once, hits")
        bench.shaped()
        bench.killed_half_way()
        bench.four_at_once()
        bench.warm()
        return bench.figures
