"""One question to a model store, with the service's own credentials: Secret and CA by name, in its own namespace."""

import asyncio
import base64
import binascii
import logging
from collections.abc import Sequence

from inference_fleet.api.conditions import Reason
from inference_fleet.api.v1alpha1.spec import Model, Store
from inference_fleet.catalog.models import ModelFacts, model_facts
from inference_fleet.clients import kube, objectstore
from inference_fleet.clients.kube import ApiError, KubeClient
from inference_fleet.clients.objectstore import StoreError
from inference_fleet.clients.storeaddress import Network
from inference_fleet.modelcache.keys import S3Location, parse_uri
from inference_fleet.modelcache.store import Credentials
from inference_fleet.reconciler.outcome import ModelUnreadable, StoredModel

logger = logging.getLogger(__name__)

_ID, _KEY, _TOKEN, _CA = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "ca.crt"
_MAX_MESSAGE = 1024
"""What a condition holds; the answer is kept, and a model's files may hold values of megabytes."""


class ModelStore:
    """Reads models for services."""

    def __init__(
        self,
        client: KubeClient,
        *,
        secret_namespaces: Sequence[str],
        allowed_networks: Sequence[Network],
        api_server: Sequence[str],
    ) -> None:
        """Read Secrets only in `secret_namespaces` (all if empty); `allowed_networks` may hold stores though local."""
        self._client = client
        self._secret_namespaces = frozenset(secret_namespaces)
        self._allowed = allowed_networks
        self._api_server = api_server

    async def read(self, namespace: str, model: Model) -> StoredModel | ModelUnreadable:
        """What the store says of a model, or why it does not. Never a credential, never a file's content."""
        store = model.store or Store()
        try:
            location = parse_uri(model.uri, store.endpoint, store.region)
            if not isinstance(location, S3Location):
                return ModelUnreadable(Reason.MODEL_MISSING, f"{model.uri} is not in an S3 store")
            stored = await objectstore.read_model(
                location,
                await self._credentials(namespace, store),
                await self._ca(namespace, store),
                allowed=self._allowed,
                api_server=self._api_server,
            )
            # In a thread: a file of the largest size takes most of a second, which is nobody else's.
            return StoredModel(stored.digest, stored.bytes, await asyncio.to_thread(_facts, stored))
        except StoreError as error:
            return ModelUnreadable(error.reason, error.message[:_MAX_MESSAGE])
        except ValueError as error:
            return ModelUnreadable(Reason.MODEL_MISSING, str(error)[:_MAX_MESSAGE])
        except ApiError as error:
            return ModelUnreadable(Reason.STORE_UNREACHABLE, f"the API server could not be asked: {error.reason}")
        except Exception:  # whatever a store answers, it is this service's trouble and no one else's
            logger.exception("reading a model failed", extra={"service": namespace})
            return ModelUnreadable(
                Reason.STORE_UNREACHABLE, f"{model.uri} could not be read; the operator's log says why"
            )

    async def _credentials(self, namespace: str, store: Store) -> Credentials | None:
        name = store.credentials_secret
        if name is None:
            return None
        if self._secret_namespaces and namespace not in self._secret_namespaces:
            raise StoreError(
                Reason.CREDENTIALS_MISSING, f"the operator may not read Secrets in namespace {namespace}; ask its owner"
            )
        data = await self._data(kube.SECRET, namespace, name)
        try:
            values = {key: base64.b64decode(value).decode().strip() for key, value in data.items()}
        except (binascii.Error, UnicodeDecodeError):
            values = {}
        if not values.get(_ID) or not values.get(_KEY):
            raise StoreError(Reason.CREDENTIALS_MISSING, f"Secret {name} needs the keys {_ID} and {_KEY}")
        return Credentials(values[_ID], values[_KEY], values.get(_TOKEN) or None)

    async def _ca(self, namespace: str, store: Store) -> bytes | None:
        name = store.ca_config_map
        if name is None:
            return None
        data = await self._data(kube.CONFIG_MAP, namespace, name)
        if not data.get(_CA):
            raise StoreError(Reason.CREDENTIALS_MISSING, f"ConfigMap {name} needs the key {_CA}")
        return data[_CA].encode()

    async def _data(self, kind: kube.Kind, namespace: str, name: str) -> dict[str, str]:
        try:
            found = await self._client.get(kind, namespace, name)
        except ApiError as error:
            if error.not_found:
                raise StoreError(Reason.CREDENTIALS_MISSING, f"{kind.name} {name} does not exist") from error
            if error.status == 403:
                raise StoreError(Reason.CREDENTIALS_MISSING, f"the operator may not read {kind.name} {name}") from error
            raise
        return found.get("data") or {}


def _facts(stored: objectstore.StoredModel) -> ModelFacts | None:
    """The model's facts; None where there is no config.json to take them from."""
    if stored.config is None:
        return None
    try:
        return model_facts(stored.config, stored.index, stored.weights)
    except ValueError as error:
        raise StoreError(Reason.MODEL_CONFIG_INVALID, str(error)) from error
