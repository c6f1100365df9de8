"""Where the built Argo CD is kept, and how it gets there.

Only its controller and its repository server are built (`e2e/cluster/gomod/argocd/main.go` says why), so there is no
official download to try first.
"""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.build import MODULES, go_build
from e2e.cluster.errors import ClusterError
from e2e.cluster.paths import cache_dir

VERSION = "v3.2.5"
MODULE = "github.com/argoproj/argo-cd/v3"
_CRDS = ("application-crd.yaml", "appproject-crd.yaml")


@dataclass(frozen=True)
class Program:
    """The built program, and the definitions of the same version."""

    binary: Path
    crds: tuple[Path, ...]


def _program() -> Program:
    folder = cache_dir() / f"argocd-{VERSION}"
    return Program(folder / "argocd", tuple(folder / name for name in _CRDS))


def cached() -> Program | None:
    """What an earlier build left; None where there was none."""
    program = _program()
    return program if program.binary.exists() else None


def build(report: Callable[[str], None]) -> Program:
    """Build the program. It is renamed into place last: a folder without it counts as nothing."""
    program = _program()
    program.binary.parent.mkdir(parents=True, exist_ok=True)
    partial = program.binary.with_name(f".argocd.{os.getpid()}")
    try:
        go_build("argocd", ".", "", partial, f"Argo CD {VERSION}", report)
        listing = subprocess.run(
            ["go", "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", MODULE],
            cwd=MODULES / "argocd",
            text=True,
            capture_output=True,
            check=False,
        )
        if listing.returncode != 0:
            raise ClusterError(f"the sources of Argo CD {VERSION} are gone: {listing.stderr.strip()}")
        for target in program.crds:
            target.write_bytes((Path(listing.stdout.strip()) / "manifests" / "crds" / target.name).read_bytes())
        partial.rename(program.binary)
    finally:
        partial.unlink(missing_ok=True)
    return program
