"""The operator's look at a model in a real store; the digest is the one that `pull` compares."""

import asyncio
import json
from ipaddress import ip_network
from pathlib import Path

import pytest

from e2e.cluster import S3
from inference_fleet.api.conditions import Reason
from inference_fleet.clients.objectstore import StoredModel, StoreError, read_model
from inference_fleet.modelcache.keys import S3Location
from inference_fleet.modelcache.store import Credentials
from tests.store.conftest import Pull
from tests.store.models import BUCKET

LOOPBACK = [ip_network("127.0.0.0/8")]


def read(s3: S3, prefix: str, secret: str | None = None, bucket: str = BUCKET) -> StoredModel:
    location = S3Location(bucket, prefix, s3.endpoint, s3.region)
    credentials = Credentials(s3.access_key, secret or s3.secret_key)
    return asyncio.run(read_model(location, credentials, allowed=LOOPBACK))


def test_config_index_sizes_and_digest(
    s3: S3, pull: Pull, tmp_path: Path, prefix: str, model: dict[str, bytes]
) -> None:
    index = {"metadata": {"total_size": 9 << 20}, "weight_map": {"a": "model-0.safetensors"}}
    s3.put(BUCKET, {f"{prefix}/model.safetensors.index.json": json.dumps(index).encode()})
    found = read(s3, prefix)

    assert found.config == {"model_type": "llama"}
    assert found.index == index
    assert found.weights == {name: len(data) for name, data in model.items() if name.endswith(".safetensors")}
    assert found.digest == pull(f"s3://{BUCKET}/{prefix}/", tmp_path / "m", "--digest", found.digest).result["digest"]


def test_reasons(s3: S3, prefix: str, model: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.setenv(name, "of-the-operator")
    with pytest.raises(StoreError) as caught:
        read(s3, prefix, secret="wrong-s3cr3t")
    assert caught.value.reason is Reason.STORE_FORBIDDEN
    assert "s3cr3t" not in caught.value.message
    for nothing in (f"{prefix}-hf", prefix[:-1], f"{prefix}/sub"):
        with pytest.raises(StoreError, match="holds no objects") as caught:
            read(s3, nothing)
        assert caught.value.reason is Reason.MODEL_MISSING
    with pytest.raises(StoreError, match="no such bucket") as caught:
        read(s3, prefix, bucket="no-such-bucket")
    assert caught.value.reason is Reason.MODEL_MISSING


def test_without_credentials_the_operators_own_are_not_used(
    s3: S3, prefix: str, model: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in s3.environment.items():
        monkeypatch.setenv(name, value)
    location = S3Location(BUCKET, prefix, s3.endpoint, s3.region)
    with pytest.raises(StoreError) as caught:
        asyncio.run(read_model(location, None, allowed=LOOPBACK))
    assert caught.value.reason is Reason.STORE_FORBIDDEN
