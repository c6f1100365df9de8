"""How a program gets into the cache: one download, or one build, never half a file."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from e2e.cluster import binaries, build, download
from e2e.cluster.errors import ClusterError

HASH = "a" * 64


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "inference-fleet" / "bin"


def refuse(*_: object) -> None:
    raise download.UnavailableError("the site cannot be reached")


def test_what_cannot_be_downloaded_is_built_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def compile_it(module: str, package: str, link: str, target: Path, title: str, report: object) -> None:
        built.append(title)
        target.write_text("program")

    monkeypatch.setattr(download, "fetch", refuse)
    monkeypatch.setattr(build, "go_build", compile_it)
    said: list[str] = []
    threads = [
        threading.Thread(target=binaries.ensure, args=(["etcd", "kube-apiserver"], said.append)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert built == ["etcd v3.6.16 (1 of 2)", "kube-apiserver v1.35.4 (2 of 2)"]
    assert sorted(f.name for f in cache.iterdir()) == [".lock", "etcd-v3.6.16", "kube-apiserver-v1.35.4"]
    assert (cache / "etcd-v3.6.16").stat().st_mode & 0o111
    assert any("the site cannot be reached" in line for line in said)


def test_a_broken_build_leaves_nothing_in_the_cache(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(module: str, package: str, link: str, target: Path, *_: object) -> None:
        target.write_text("half")
        raise ClusterError("no space left")

    monkeypatch.setattr(download, "fetch", refuse)
    monkeypatch.setattr(build, "go_build", fail)
    with pytest.raises(ClusterError, match="no space left"):
        binaries.ensure(["etcd"], lambda _: None)
    assert [f.name for f in cache.iterdir()] == [".lock"]


def test_without_go_the_way_out_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"no `go` on the PATH. Install Go 1.21 or newer"):
        build.go_build("etcd", "go.etcd.io/etcd/server/v3", "", tmp_path / "etcd", "etcd", lambda _: None)


def test_a_failing_build_shows_the_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\necho undefined: thing\nexit 2\n")
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(ClusterError, match=r"failed with exit code 2\nundefined: thing"):
        build.go_build("etcd", "package", "", tmp_path / "etcd", "etcd", lambda _: None)


@pytest.mark.parametrize(
    "text", [HASH, f"{HASH}\n", f"{HASH}  etcd.tar.gz\n", f"{'b' * 64}  other\n{HASH} *etcd.tar.gz\n"]
)
def test_checksum_files_in_their_usual_forms(text: str) -> None:
    assert download.published_checksum(text, "etcd.tar.gz") == HASH


@pytest.mark.parametrize("text", ["", "<html>not here</html>", f"{HASH}  other"])
def test_a_missing_checksum_is_no_checksum(text: str) -> None:
    with pytest.raises(download.UnavailableError, match="no checksum is published"):
        download.published_checksum(text, "etcd.tar.gz")


Serve = Callable[[dict[str, bytes]], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[tuple[ThreadingHTTPServer, threading.Thread]] = []

    def start(files: dict[str, bytes]) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = files.get(self.path)
                self.send_response(200 if body is not None else 404)
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                """Keep the test's output clean."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_download_with_the_published_checksum_is_taken(tmp_path: Path, serve: Serve) -> None:
    digest = hashlib.sha256(b"program").hexdigest()
    site = serve({"/tool": b"program", "/tool.sha256": digest.encode()})
    download.fetch(f"{site}/tool", f"{site}/tool.sha256", "", tmp_path / "tool", lambda _: None)
    assert (tmp_path / "tool").read_bytes() == b"program"


def test_a_download_with_another_checksum_is_not(tmp_path: Path, serve: Serve) -> None:
    site = serve({"/tool": b"tampered", "/tool.sha256": HASH.encode()})
    with pytest.raises(download.UnavailableError, match="is published"):
        download.fetch(f"{site}/tool", f"{site}/tool.sha256", "", tmp_path / "tool", lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_a_site_without_the_file_is_unavailable(tmp_path: Path, serve: Serve) -> None:
    site = serve({})
    with pytest.raises(download.UnavailableError, match="answered 404"):
        download.fetch(f"{site}/tool", f"{site}/tool.sha256", "", tmp_path / "tool", lambda _: None)
