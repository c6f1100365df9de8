"""Build a program from the Go modules pinned beside this file."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from e2e.cluster.errors import ClusterError
from e2e.cluster.supervisor import die_with

MODULES = Path(__file__).with_name("gomod")
REPORT_EVERY = 15


def go_build(module: str, package: str, link: str, target: Path, title: str, report: Callable[[str], None]) -> None:
    """Run `go build`, saying how long it takes: the first Kubernetes build is ten minutes of silence otherwise."""
    go = shutil.which("go")
    if go is None:
        raise ClusterError(
            f"{title} can be neither downloaded nor built here: no `go` on the PATH. Install Go 1.21 or newer "
            "(a newer toolchain is fetched by it when the module asks for one), or open the way to the download site."
        )
    command = [go, "build", "-mod=readonly", "-trimpath", "-ldflags", f"-s -w {link}", "-o", str(target), package]
    me = os.getpid()
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=MODULES / module,
            env={**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: die_with(me),
        )
        try:
            while True:
                report(f"building {title}, {time.monotonic() - started:.0f} s so far")
                try:
                    code = process.wait(REPORT_EVERY)
                    break
                except subprocess.TimeoutExpired:
                    continue
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        if code != 0:
            output.seek(0)
            tail = "\n".join(output.read().splitlines()[-15:])
            raise ClusterError(f"building {title} failed with exit code {code}\n{tail}")
