"""The programs a cluster is made of: which versions, and how they get into this user's cache.

The official download with its checksum is tried first; where it cannot be reached, the program is built from the Go
modules pinned under `gomod/` (go.sum pins every byte). Both end in an atomic rename: the cache never holds half a file.
"""

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster import build, download
from e2e.cluster.errors import ClusterError
from e2e.cluster.paths import cache_dir

Report = Callable[[str], None]
KUBERNETES = "v1.35.4"
_KUBERNETES_FLAGS = " ".join(
    f"-X k8s.io/component-base/version.{key}={value}"
    for key, value in {"gitVersion": KUBERNETES, "gitMajor": "1", "gitMinor": "35"}.items()
)


@dataclass(frozen=True)
class Binary:
    """One program: where it is built from and where it can be had ready made."""

    name: str
    version: str
    module: str
    package: str
    link: str = ""
    url: str = ""
    checksum: str = ""
    member: str = ""  # the program's path inside a tar archive; empty where the download is the program

    @property
    def path(self) -> Path:
        """Where the cache keeps it."""
        return cache_dir() / f"{self.name}-{self.version}"


def _kubernetes(name: str) -> Binary:
    url = f"https://dl.k8s.io/release/{KUBERNETES}/bin/linux/{{arch}}/{name}"
    return Binary(
        name, KUBERNETES, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _KUBERNETES_FLAGS, url, url + ".sha256"
    )


def _etcd(version: str) -> Binary:
    base = f"https://github.com/etcd-io/etcd/releases/download/{version}"
    folder = f"etcd-{version}-linux-{{arch}}"
    return Binary(
        "etcd",
        version,
        "etcd",
        "go.etcd.io/etcd/server/v3",
        url=f"{base}/{folder}.tar.gz",
        checksum=f"{base}/SHA256SUMS",
        member=f"{folder}/etcd",
    )


def _kwok(version: str) -> Binary:
    url = f"https://github.com/kubernetes-sigs/kwok/releases/download/{version}/kwok-linux-{{arch}}"
    link = f"-X sigs.k8s.io/kwok/pkg/consts.Version={version}"
    return Binary("kwok", version, "kwok", "sigs.k8s.io/kwok/cmd/kwok", link, url, url + ".sha256")


def _helm(version: str) -> Binary:
    url = f"https://get.helm.sh/helm-{version}-linux-{{arch}}.tar.gz"
    link = f"-X helm.sh/helm/v3/internal/version.version={version}"
    return Binary("helm", version, "helm", "helm.sh/helm/v3/cmd/helm", link, url, url + ".sha256", "linux-{arch}/helm")


BINARIES = {
    binary.name: binary
    for binary in (
        _etcd("v3.6.16"),
        _kubernetes("kube-apiserver"),
        _kubernetes("kube-controller-manager"),
        _kubernetes("kube-scheduler"),
        _kwok("v0.8.0"),
        _helm("v3.22.0"),
    )
}
CLUSTER = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")


def ensure(names: Sequence[str], report: Report) -> dict[str, Path]:
    """Give the path of every program, making those the cache lacks.

    A file lock keeps two processes from doing the same work: the second waits, then finds everything there.
    """
    wanted = [BINARIES[name] for name in names]
    if any(not binary.path.exists() for binary in wanted):
        cache_dir().mkdir(parents=True, exist_ok=True)
        with (cache_dir() / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                report("waiting for another process that prepares the same programs")
                fcntl.flock(lock, fcntl.LOCK_EX)
            missing = [binary for binary in wanted if not binary.path.exists()]
            for number, binary in enumerate(missing, start=1):
                _make(binary, f"({number} of {len(missing)})", report)
    return {binary.name: binary.path for binary in wanted}


def _make(binary: Binary, place: str, report: Report) -> None:
    title = f"{binary.name} {binary.version} {place}"
    partial = binary.path.with_name(f".{binary.path.name}.{os.getpid()}")
    try:
        try:
            download.fetch(binary.url, binary.checksum, binary.member, partial, lambda text: report(f"{title}: {text}"))
        except download.UnavailableError as reason:
            report(f"{title}: no download ({reason}), building it from its pinned Go module")
            build.go_build(binary.module, binary.package, binary.link, partial, title, report)
        partial.chmod(0o755)
        partial.rename(binary.path)
    finally:
        partial.unlink(missing_ok=True)


def from_wheel(name: str) -> Path:
    """Find a program that a locked Python package installs (kubectl, weed)."""
    beside = Path(sys.executable).with_name(name)
    if beside.exists():
        return beside
    found = shutil.which(name)
    if found is None:
        raise ClusterError(f"{name} is not installed: `make venv` installs it from requirements-dev.lock")
    return Path(found)
