"""A real S3 server (SeaweedFS) on loopback, for models that are fetched."""

import json
import secrets
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from obstore.store import S3Store

from e2e.cluster.binaries import from_wheel
from e2e.cluster.credentials import write_private
from e2e.cluster.paths import free_ports
from e2e.cluster.processes import Processes

REGION = "us-east-1"
GRPC_OFFSET = 10_000  # where SeaweedFS puts the gRPC port of each of its servers
NAME = "seaweedfs"


class S3:
    """An S3 server with one random key pair; it ends with the supervisor it was started under.

    `start` puts it beside a cluster (and it stays as long as the cluster); `up` gives it a supervisor of its own.
    """

    def __init__(self, processes: Processes, *, owned: bool) -> None:
        self._processes = processes
        self._owned = owned
        self.access_key = secrets.token_hex(10)
        self.secret_key = secrets.token_hex(20)
        self.region = REGION
        self.port, self._filer, self._volume, self._master = free_ports(4, low=10_000, high=20_000, also=GRPC_OFFSET)
        self.endpoint = f"http://127.0.0.1:{self.port}"

    @classmethod
    def start(cls, processes: Processes, seconds: float = 60) -> Self:
        """Start the server under an existing supervisor, for example `cluster.processes`."""
        server = cls(processes, owned=False)
        server._start(seconds)
        return server

    @classmethod
    def up(cls, seconds: float = 60) -> Self:
        """Start the server on its own; a context manager that ends it."""
        state = Path(tempfile.mkdtemp(prefix="inference-fleet-s3-"))
        server = cls(Processes.launch(state), owned=True)
        try:
            server._start(seconds)
        except BaseException:
            server.stop()
            raise
        return server

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """End the server and remove what it stored."""
        if self._owned:
            self._processes.down()
        else:
            self._processes.stop(NAME, seconds=0.1)
            shutil.rmtree(self._data, ignore_errors=True)

    @property
    def environment(self) -> dict[str, str]:
        """The standard variables by which a client finds this server."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_REGION": self.region,
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_ALLOW_HTTP": "true",
        }

    def store(self, bucket: str) -> S3Store:
        """Give an obstore client; the first upload makes the bucket."""
        return S3Store(
            bucket,
            endpoint=self.endpoint,
            region=self.region,
            access_key_id=self.access_key,
            secret_access_key=self.secret_key,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True},
        )

    def put(self, bucket: str, files: Mapping[str, bytes | Path]) -> None:
        """Upload files by key, from memory or from disk."""
        store = self.store(bucket)
        for key, content in files.items():
            store.put(key, content)

    @property
    def _data(self) -> Path:
        return self._processes.state / NAME

    def _start(self, seconds: float) -> None:
        self._data.mkdir(mode=0o700)
        identity = {
            "name": "admin",
            "credentials": [{"accessKey": self.access_key, "secretKey": self.secret_key}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        config = write_private(self._data / "s3.json", json.dumps({"identities": [identity]}))
        # SeaweedFS puts these sockets into /tmp whatever TMPDIR says.
        servers = {"s3": self.port, "filer": self._filer, "volume": self._volume, "master": self._master}
        sockets = [Path(f"/tmp/seaweedfs-{name}-grpc-{port + GRPC_OFFSET}.sock") for name, port in servers.items()]  # noqa: S108
        self._processes.start(NAME, self._command(config), env={"HOME": str(self._data)}, leaves=sockets)
        self._processes.wait_for("readiness of the S3 server", self._ready, process=NAME, seconds=seconds)

    def _command(self, config: Path) -> list[str | Path]:
        return [
            from_wheel("weed"),
            f"-logdir={self._data}",
            "server",
            f"-dir={self._data}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-master.port={self._master}",
            "-master.telemetry=false",
            "-master.volumeSizeLimitMB=64",
            f"-volume.port={self._volume}",
            "-volume.max=64",  # one bucket and the filer's own log use up a handful
            "-filer",
            f"-filer.port={self._filer}",
            f"-filer.localSocket={self._data / 'filer.sock'}",
            "-s3",
            f"-s3.port={self.port}",
            f"-s3.config={config}",
            f"-s3.localSocket={self._data / 's3.sock'}",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
        ]

    def _ready(self) -> bool:
        """Tell whether a bucket can be made and written: the health page answers before the volumes are there."""
        try:
            self.store("ready").put("probe", b"ready", use_multipart=False)
        except Exception:  # noqa: BLE001 - obstore has many errors for "not yet"; the deadline shows the server's log
            return False
        return True
