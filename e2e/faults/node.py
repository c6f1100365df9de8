"""A node's cache under test: pulls into it, and what must hold after each of them."""

import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from e2e.cluster import S3
from e2e.faults import child
from e2e.faults.child import Conditions
from e2e.faults.proxy import Proxy
from inference_fleet.modelcache.failure import Failure
from inference_fleet.modelcache.publish import read_manifest, read_ready

BUCKET = "faults"
HEALTHY = Conditions()
_PATIENCE_SECONDS = 60.0

TOTALS = ("fetchedBytes", "resumedBytes", "retries")

Files = dict[str, bytes]


class BrokenError(AssertionError):
    """Something that must never be was."""


@dataclass
class Node:
    """The cache directory `root` with one model in it, `dest`, and the store behind the proxy.

    `versions` are the trees that the store has ever held under the model's prefix; `outcomes` what pulls ended with,
    `totals` the sums of what those that succeeded said they did.
    """

    s3: S3
    proxy: Proxy
    root: Path
    prefix: str
    random: random.Random
    files: Files
    versions: list[Files] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)

    @property
    def dest(self) -> Path:
        """Where the model is to be."""
        return self.root / "model"

    @property
    def bytes(self) -> int:
        """Size of the model."""
        return sum(map(len, self.files.values()))

    def store(self, files: Files) -> None:
        """Put these objects; from here on the store's tree is another version."""
        self.files = {**self.files, **files}
        self.versions.append(self.files)
        self.s3.put(BUCKET, {f"{self.prefix}/{name}": data for name, data in files.items()})

    def start(self, *options: str, conditions: Conditions = HEALTHY) -> "Running":
        """Start a pull."""
        output = self.root.parent / f"output-{secrets.token_hex(4)}"
        environment = {**self.s3.environment, "AWS_ENDPOINT_URL": self.proxy.endpoint}
        arguments = [f"s3://{BUCKET}/{self.prefix}", str(self.dest), "--output", "json", *options]
        return Running(self, child.start(arguments, environment, output, conditions), output)

    def pull(self, *options: str, conditions: Conditions = HEALTHY) -> "Ended":
        """Pull to the end."""
        return self.start(*options, conditions=conditions).end()

    def check_published(self) -> None:
        """Whatever is marked READY, and looks untouched, is byte for byte what the store held at one moment."""
        if read_ready(self.dest) is not None and tree(self.dest) not in self.versions:
            raise BrokenError("a copy is READY and its bytes are not the store's")

    def check_whole(self) -> None:
        """The copy is READY, is what the store holds now, and nothing else is left in the cache."""
        if read_ready(self.dest) is None:
            raise BrokenError("a pull succeeded and no copy is READY")
        if tree(self.dest) != self.files:
            raise BrokenError("a pull succeeded with other bytes than the store holds")
        left = sorted(path.name for path in self.root.iterdir())
        if left != [self.dest.name]:
            raise BrokenError(f"a success left {left}")
        if (self.dest / ".inference-fleet" / "journal").exists():
            raise BrokenError("a success left the journal")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a pull ended: its exit status (negative: the signal), what it printed, and its result if it succeeded."""

    status: int
    said: str
    result: dict[str, object]


@dataclass(frozen=True, slots=True)
class Running:
    """A pull that runs."""

    node: Node
    process: ForkServerProcess
    output: Path

    def kill(self) -> Ended:
        """Kill -9, wherever it is."""
        self.process.kill()
        return self.end()

    def end(self) -> Ended:
        """Wait for its end and check what it has left."""
        self.process.join(_PATIENCE_SECONDS)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
            raise BrokenError(f"a pull did not end in {_PATIENCE_SECONDS:.0f} s")
        status = self.process.exitcode
        self.process.close()
        out, said = (_take(self.output.with_suffix(suffix)) for suffix in (".out", ".err"))
        self.node.check_published()
        if status not in (0, 1, -9):
            raise BrokenError(f"a pull ended with {status}: {said[-500:]}")
        if status == 1 and not (said.count("\n") == 1 and any(f" {kind}: " in said for kind in Failure)):
            raise BrokenError(f"a failure was not one clear sentence: {said[-500:]}")
        self.node.outcomes.append({0: "ready", -9: "killed"}.get(status, said.split(": ")[2] if status == 1 else ""))
        result = json.loads(out) if status == 0 else {}
        self.node.totals.update({key: result[key] for key in TOTALS if key in result})
        return Ended(status, said, result)

    def wait_until(self, happened: Callable[[], bool]) -> None:
        """Wait for something to happen, or for the pull to end."""
        while self.process.exitcode is None and not happened():
            time.sleep(0.001)


def tree(dest: Path) -> Files:
    """The files of a copy as an engine sees them, by what its manifest names and what lies there."""
    manifest = read_manifest(dest)
    names = {str(path.relative_to(dest)) for path in dest.rglob("*") if path.is_file()}
    shown = {name for name in names if not name.startswith(".inference-fleet/")}
    if manifest is not None and shown != {file.name for file in manifest.files}:
        raise BrokenError(f"the manifest does not name {sorted(shown ^ {file.name for file in manifest.files})}")
    return {name: (dest / name).read_bytes() for name in shown}


def _take(path: Path) -> str:
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    return text


def random_model(chance: random.Random) -> Files:
    """Some shards of odd sizes, a config, an empty file."""
    files = {
        f"model-{shard}.safetensors": chance.randbytes(chance.choice([1, 4096, 300_000, 700_001, 1 << 20]))
        for shard in range(chance.randint(2, 6))
    }
    files["model-big.safetensors"] = chance.randbytes(1_500_000)
    return {**files, "config.json": b'{"model_type": "llama"}', "sub/empty.txt": b""}
