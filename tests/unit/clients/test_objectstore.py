"""A hostile or broken store against the operator's look: small HTTP servers that answer what they like."""

import asyncio
import contextlib
import ipaddress
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path

import pytest

from inference_fleet.api.conditions import Reason
from inference_fleet.clients import objectstore
from inference_fleet.clients.objectstore import StoredModel, StoreError, read_model
from inference_fleet.modelcache.keys import S3Location
from inference_fleet.modelcache.store import Credentials

HERE = ip_network("127.0.0.1/32")
SECRET = Credentials("key-id", "s3cr3t-key", "s3cr3t-token")

Answer = tuple[int, dict[str, str], bytes]
Site = Callable[[str], Answer]


def listing(*files: tuple[str, int]) -> Answer:
    objects = "".join(
        f"<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
        f"<ETag>&quot;e&quot;</ETag><Size>{size}</Size></Contents>"
        for key, size in files
    )
    page = f"<ListBucketResult><Name>models</Name><IsTruncated>false</IsTruncated>{objects}</ListBucketResult>"
    return 200, {}, page.encode()


def site(config: bytes = b'{"model_type": "llama"}', *more: tuple[str, int]) -> Site:
    def answer(path: str) -> Answer:
        if "list-type=2" in path:
            return listing(("m/config.json", len(config)), ("m/a.safetensors", 1000), *more)
        return 200, {}, config

    return answer


@contextlib.contextmanager
def serving(
    answer: Site, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[str]]]:
    """The URL of a server and the requests that have reached it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.headers['Host']}{self.path}")
            status, headers, body = answer(self.path)
            self.send_response(status)
            fixed = {"ETag": '"e"', "Last-Modified": "Tue, 01 Dec 2026 00:00:00 GMT", "Content-Length": str(len(body))}
            for name, value in {**fixed, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815 - the name http.server looks for

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            pass

    server = ThreadingHTTPServer((host, 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"{'https' if tls else 'http'}://{host}:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def read(
    endpoint: str, *, allow: bool = True, api_server: tuple[str, ...] = (), ca: bytes | None = None
) -> StoredModel:
    location = S3Location("models", "m", endpoint)
    return asyncio.run(read_model(location, SECRET, ca, allowed=[HERE] if allow else [], api_server=api_server))


def refusal(endpoint: str, *, allow: bool = True, api_server: tuple[str, ...] = ()) -> StoreError:
    with pytest.raises(StoreError) as caught:
        read(endpoint, allow=allow, api_server=api_server)
    assert "s3cr3t" not in caught.value.message
    return caught.value


def test_what_the_store_tells() -> None:
    with serving(site()) as (url, asked):
        model = read(url)

    assert model.config == {"model_type": "llama"}
    assert model.index is None
    assert model.weights == {"a.safetensors": 1000}
    assert model.bytes == 1000 + len(b'{"model_type": "llama"}')
    assert all(request.startswith(url.removeprefix("http://") + "/models") for request in asked)
    assert len(asked) == 2, "the weights are not read"


def test_a_loopback_store_is_refused_before_a_request_reaches_it() -> None:
    with serving(site()) as (url, asked):
        for endpoint in (url, url.replace("127.0.0.1", "localhost")):
            error = refusal(endpoint, allow=False)
            assert error.reason is Reason.STORE_ADDRESS_REFUSED
            assert "loopback" in error.message
    assert asked == []


def test_a_store_that_redirects_to_a_refused_address() -> None:
    with (
        serving(lambda path: (200, {}, b"of an inner service"), host="127.0.0.2") as (inner, inner_asked),
        serving(lambda path: (302, {"Location": f"{inner}/latest/meta-data"}, b"")) as (url, asked),
    ):
        error = refusal(url)
    assert asked
    assert inner_asked == []
    assert error.reason is Reason.STORE_ADDRESS_REFUSED
    assert "127.0.0.2" in error.message


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_api_server_is_no_store(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Every address of this machine is refused as loopback already, so here 127.0.0.1 counts as a host of the world.
    monkeypatch.setattr(ipaddress.IPv4Address, "is_loopback", False)
    with serving(site()) as (url, asked):
        error = refusal(url, allow=False, api_server=("", "no-such-host.invalid", host))
        assert read(url, allow=False, api_server=("", "no-such-host.invalid")).config
    assert error.reason is Reason.STORE_ADDRESS_REFUSED
    assert "is the Kubernetes API server" in error.message
    assert len(asked) == 2, "only the second read came through"


def test_a_climbing_key() -> None:
    with serving(site(b"{}", ("m/../evil", 5))) as (url, _):
        error = refusal(url)
    assert error.reason is Reason.MODEL_KEY_REFUSED


@pytest.mark.parametrize("config", [b"", b"[1]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_config_that_is_no_json_object(config: bytes) -> None:
    with serving(site(config, ("m/tokenizer.json", 5))) as (url, _):
        error = refusal(url)
    assert error.reason is Reason.MODEL_CONFIG_INVALID
    assert error.message == "config.json of s3://models/m is not a JSON object."


def test_a_config_larger_than_any_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objectstore, "MAX_FILE_BYTES", 1 << 20)
    with serving(site(b" " * (3 << 20))) as (url, _):
        error = refusal(url)
    assert error.reason is Reason.MODEL_CONFIG_INVALID
    assert "larger than 1 MiB" in error.message


def test_a_listing_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objectstore, "MAX_ANSWER_BYTES", 1 << 20)
    with serving(lambda path: (200, {}, b" " * (3 << 20))) as (url, _):
        error = refusal(url)
    assert error.reason is Reason.STORE_UNREACHABLE
    assert "answers with more than 1 MiB" in error.message


def test_a_store_that_says_nothing_costs_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objectstore, "READ_SECONDS", 0.5)
    silent = threading.Event()

    def hold(path: str) -> Answer:
        silent.wait(10)
        return 500, {}, b""

    with serving(hold) as (url, _):
        started = time.monotonic()
        error = refusal(url)
        assert time.monotonic() - started < 5
        silent.set()
    assert error.reason is Reason.STORE_UNREACHABLE


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [("http://127.0.0.1:1", "127.0.0.1:1"), ("http://store.invalid", "'store.invalid' does not resolve")],
)
def test_a_store_that_cannot_be_reached(endpoint: str, said: str) -> None:
    error = refusal(endpoint)

    assert error.reason is Reason.STORE_UNREACHABLE
    assert said in error.message


def test_an_error_page_is_not_repeated() -> None:
    page = b"<Error><Code>AccessDenied</Code><Message>s3cr3t</Message></Error>"
    with serving(lambda path: (403, {}, page)) as (url, _):
        error = refusal(url)
    assert error.reason is Reason.STORE_FORBIDDEN
    assert "AccessDenied" in error.message


@pytest.fixture(scope="module")
def private_ca(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, ssl.SSLContext]:
    """The CA's certificate, and a server context for 127.0.0.1 that it has signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates of this test")
    folder = tmp_path_factory.mktemp("tls")
    (folder / "leaf.ext").write_text("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    signed_by = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"]
    for command in (
        ["req", "-x509", *new, "-subj", "/CN=corp", "-keyout", "ca.key", "-out", "ca.crt", "-days", "2"],
        ["req", *new, "-subj", "/CN=store", "-keyout", "leaf.key", "-out", "leaf.csr"],
        ["x509", "-req", *signed_by, "-in", "leaf.csr", "-out", "leaf.crt", "-days", "2", "-extfile", "leaf.ext"],
    ):
        subprocess.run(["openssl", *command], cwd=folder, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "leaf.crt", folder / "leaf.key")
    return (Path(folder) / "ca.crt").read_bytes(), context


def test_tls_with_a_private_ca(private_ca: tuple[bytes, ssl.SSLContext]) -> None:
    ca, context = private_ca
    with serving(site(), tls=context) as (url, asked):
        assert read(url, ca=ca).config == {"model_type": "llama"}
        assert asked
        assert "certificate is not trusted" in refusal(url).message
        assert refusal(url, allow=False).reason is Reason.STORE_ADDRESS_REFUSED


def test_a_tls_store_that_redirects_to_a_refused_address(private_ca: tuple[bytes, ssl.SSLContext]) -> None:
    ca, context = private_ca
    with (
        serving(site(), host="127.0.0.2", tls=context) as (inner, inner_asked),
        serving(lambda path: (302, {"Location": inner}, b""), tls=context) as (url, _),
        pytest.raises(StoreError) as caught,
    ):
        read(url, ca=ca)
    assert inner_asked == []
    assert caught.value.reason is Reason.STORE_ADDRESS_REFUSED
