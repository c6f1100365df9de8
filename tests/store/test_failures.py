"""Each kind of failure has its own word, and no output ever holds a credential."""

import asyncio
import secrets
from pathlib import Path

import pytest

from e2e.cluster import S3
from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.fill import fill
from inference_fleet.modelcache.journal import Job
from inference_fleet.modelcache.keys import S3Location
from inference_fleet.modelcache.retry import Counts
from inference_fleet.modelcache.staging import boot_id, create
from inference_fleet.modelcache.store import Credentials, list_model, open_store
from tests.store.conftest import Pull
from tests.store.models import BUCKET, tree


@pytest.fixture
def uri(prefix: str, model: dict[str, bytes]) -> str:
    return f"s3://{BUCKET}/{prefix}"


def test_wrong_credentials(pull: Pull, tmp_path: Path, uri: str) -> None:
    secret = secrets.token_hex(20)
    ran = pull(uri, tmp_path / "model", AWS_SECRET_ACCESS_KEY=secret, AWS_SESSION_TOKEN=None)

    assert ran.status == 1
    assert "StoreForbidden" in ran.err
    assert secret not in ran.err + ran.out
    assert len(ran.err.splitlines()) == 1


def test_no_credentials_are_an_anonymous_request(pull: Pull, tmp_path: Path, uri: str) -> None:
    ran = pull(uri, tmp_path / "model", AWS_ACCESS_KEY_ID=None, AWS_SECRET_ACCESS_KEY=None)

    assert ran.status == 1
    assert "StoreForbidden" in ran.err
    assert "AccessDenied" in ran.err


def test_credentials_from_mounted_files(s3: S3, pull: Pull, tmp_path: Path, uri: str, model: dict[str, bytes]) -> None:
    mounted = tmp_path / "secret"
    mounted.mkdir()
    (mounted / "AWS_ACCESS_KEY_ID").write_text(f"{s3.access_key}\n")
    half = pull(uri, tmp_path / "model", INFERENCE_FLEET_CREDENTIALS_DIR=str(mounted))
    assert half.status == 1
    assert f"CredentialsMissing: There is no AWS_SECRET_ACCESS_KEY in the directory '{mounted}'." in half.err

    (mounted / "AWS_SECRET_ACCESS_KEY").write_text(f"{s3.secret_key}\n")
    ran = pull(
        uri,
        tmp_path / "model",
        INFERENCE_FLEET_CREDENTIALS_DIR=str(mounted),
        AWS_SECRET_ACCESS_KEY="of-someone-else",
        AWS_SESSION_TOKEN="of-someone-else",
    )
    assert ran.status == 0, ran.err
    assert tree(tmp_path / "model") == model


def test_connection_refused(pull: Pull, tmp_path: Path, uri: str) -> None:
    ran = pull(uri, tmp_path / "model", AWS_ENDPOINT_URL="http://127.0.0.1:1")

    assert ran.status == 1
    assert "StoreUnreachable: The store at http://127.0.0.1:1 cannot be read: connection refused." in ran.err


def test_a_store_without_tls(s3: S3, pull: Pull, tmp_path: Path, uri: str) -> None:
    ran = pull(uri, tmp_path / "model", AWS_ENDPOINT_URL=f"https://127.0.0.1:{s3.port}")

    assert ran.status == 1
    assert "StoreUnreachable" in ran.err
    assert "TLS" in ran.err


def test_an_object_replaced_in_mid_pull(s3: S3, tmp_path: Path, prefix: str, model: dict[str, bytes]) -> None:
    location = S3Location(BUCKET, prefix, s3.endpoint, s3.region)
    store = open_store(location, Credentials(s3.access_key, s3.secret_key))

    async def race() -> None:
        listing = await list_model(store, location)
        s3.put(BUCKET, {f"{prefix}/model-1.safetensors": bytes(len(model["model-1.safetensors"]))})
        stage = create(tmp_path / "m", Job("m", str(location), listing.digest, listing.bytes, boot_id()))
        try:
            await fill(store, location, listing, stage, Counts(), lambda _: lambda _: None)
        finally:
            stage.close(keep=False)

    with pytest.raises(ModelError, match="was replaced while it was read") as caught:
        asyncio.run(race())
    assert caught.value.failure is Failure.MODEL_CHANGED
