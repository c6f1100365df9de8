"""What the store tests share: the bucket, the tree of a pulled model, a PUT of keys that obstore would not write."""

import datetime
import hashlib
import hmac
import http.client
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from e2e.cluster import S3

BUCKET = "model-store"


def tree(dest: Path) -> dict[str, bytes]:
    """The files of a model as an engine sees them."""
    return {
        str(path.relative_to(dest)): path.read_bytes()
        for path in dest.rglob("*")
        if path.is_file() and ".inference-fleet" not in path.parts
    }


def wait_until(happened: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def put_raw(s3: S3, key: str, body: bytes) -> int:
    """PUT a key byte for byte, signed by AWS Signature Version 4; the HTTP status."""
    now = datetime.datetime.now(datetime.UTC)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    host, path, payload = f"127.0.0.1:{s3.port}", f"/{BUCKET}/{quote(key)}", hashlib.sha256(body).hexdigest()
    signed = "host;x-amz-content-sha256;x-amz-date"
    headers = f"host:{host}\nx-amz-content-sha256:{payload}\nx-amz-date:{stamp}\n"
    request = f"PUT\n{path}\n\n{headers}\n{signed}\n{payload}"
    scope = f"{day}/{s3.region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()])
    signing_key = f"AWS4{s3.secret_key}".encode()
    for part in scope.split("/"):
        signing_key = hmac.new(signing_key, part.encode(), hashlib.sha256).digest()
    signature = hmac.new(signing_key, text.encode(), hashlib.sha256).hexdigest()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={s3.access_key}/{scope}, SignedHeaders={signed}, Signature={signature}"
    )
    connection = http.client.HTTPConnection(host)
    try:
        connection.request(
            "PUT",
            path,
            body,
            {"x-amz-content-sha256": payload, "x-amz-date": stamp, "Authorization": authorization},
        )
        return connection.getresponse().status
    finally:
        connection.close()
