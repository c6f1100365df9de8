"""Whatever a store or a Secret holds becomes one bounded sentence about one service."""

import asyncio
from typing import Any, cast

import pytest

from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import Model
from inference_fleet.clients import objectstore
from inference_fleet.clients.kube import KubeClient
from inference_fleet.reconciler.modelstore import ModelStore
from inference_fleet.reconciler.outcome import ModelUnreadable

LLAMA = Model(name="llama", uri="s3://models/llama")


def read(monkeypatch: pytest.MonkeyPatch, config: dict[str, Any]) -> ModelUnreadable:
    async def stored(*_: Any, **__: Any) -> objectstore.StoredModel:
        return objectstore.StoredModel("sha256:aaa", 1, {}, config, None)

    monkeypatch.setattr(objectstore, "read_model", stored)
    store = ModelStore(cast("KubeClient", None), secret_namespaces=(), allowed_networks=(), api_server=())
    answer = asyncio.run(store.read("team-a", LLAMA))
    assert isinstance(answer, ModelUnreadable)
    return answer


def test_a_value_of_megabytes_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = read(monkeypatch, {"hidden_size": "x" * 10_000_000, "num_attention_heads": 8})
    assert answer.reason == Reason.MODEL_CONFIG_INVALID
    assert answer.message.startswith("config.json: hidden_size is")
    assert len(answer.message) <= 1024
