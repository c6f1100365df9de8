"""The Kubernetes API over raw JSON.

The official package loads the configuration (kubeconfig, service account, exec plugins, token refresh); the requests
are plain aiohttp, because deserialising into typed models costs four times the CPU for values that we only hand on.

Every write to children is a server-side apply under one field manager. Errors are `ApiError`s that carry the status,
the reason and the server's sentence.
"""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import kopf
from kubernetes.aio import client as kubernetes_client
from kubernetes.aio import config as kubernetes_config

from inference_fleet.api import labels

Json = dict[str, Any]

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_REQUEST_SECONDS = 30
_CONNECT_SECONDS = 10
_CONNECTIONS = 64
_PAGE = 50


@dataclass(frozen=True, slots=True)
class Kind:
    """An API kind and where it is served."""

    api_version: str
    name: str
    plural: str

    def path(self, namespace: str | None, name: str | None = None) -> str:
        """The URL path of one object, of a namespace's collection or of the cluster's."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{root}{scope}/{self.plural}" + (f"/{name}" if name else "")


INFERENCE_SERVICE = Kind(labels.API_VERSION, labels.KIND, labels.PLURAL)
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
SERVICE = Kind("v1", "Service", "services")
BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
POD = Kind("v1", "Pod", "pods")
SECRET = Kind("v1", "Secret", "secrets")
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps")
EVENT = Kind("v1", "Event", "events")

CHILD_KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (SERVICE, BUDGET, DEPLOYMENT)}


class ApiError(Exception):
    """The API server refused, failed or could not be reached (status 0)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        """Keep what the server said."""
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def not_found(self) -> bool:
        """Whether the object does not exist."""
        return self.status == 404


@dataclass(frozen=True, slots=True)
class Written:
    """What a write left on the server."""

    body: Json
    created: bool


class KubeClient:
    """One connection pool to the API server. Use as an async context manager."""

    def __init__(self, configuration: kubernetes_client.Configuration) -> None:
        """Take a loaded configuration; connect on first use."""
        self._configuration = configuration
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    async def from_environment(cls) -> "KubeClient":
        """Load the kubeconfig, or inside a cluster the service account."""
        configuration = kubernetes_client.Configuration()
        try:
            kubernetes_config.load_incluster_config(client_configuration=configuration)
        except kubernetes_config.ConfigException:
            await kubernetes_config.load_kube_config(client_configuration=configuration)
        return cls(configuration)

    @property
    def server(self) -> str:
        """URL of the API server."""
        return str(self._configuration.host)

    async def connection_info(self) -> kopf.ConnectionInfo:
        """The same connection for kopf, which asks again when its token is refused."""
        configuration = self._configuration
        scheme, _, token = (await self._authorization()).partition(" ")
        return kopf.ConnectionInfo(
            server=configuration.host,
            ca_path=configuration.ssl_ca_cert,
            insecure=not configuration.verify_ssl,
            scheme=scheme or None,
            token=token or None,
            certificate_path=configuration.cert_file,
            private_key_path=configuration.key_file,
        )

    async def _authorization(self) -> str:
        return await self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization") or ""

    async def __aenter__(self) -> "KubeClient":
        context = kubernetes_client.rest.RESTClientObject(self._configuration).ssl_context
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_CONNECTIONS, ssl=context),
            timeout=aiohttp.ClientTimeout(total=_REQUEST_SECONDS, connect=_CONNECT_SECONDS),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def get(self, kind: Kind, namespace: str, name: str) -> Json:
        """One object."""
        return (await self._request("GET", kind.path(namespace, name))).body

    async def list(
        self, kind: Kind, namespace: str | None, *, selector: str = "", metadata_only: bool = False
    ) -> AsyncIterator[Json]:
        """Every object of a kind, page by page, so that memory does not follow the cluster."""
        accept = "application/json"
        if metadata_only:
            accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
        token = ""
        while True:
            params = {"limit": str(_PAGE), "labelSelector": selector, "continue": token}
            page = (await self._request("GET", kind.path(namespace), params=params, accept=accept)).body
            for item in page["items"]:
                yield item
            token = page["metadata"].get("continue", "")
            if not token:
                return

    async def apply(self, kind: Kind, manifest: Json, *, force: bool) -> Written:
        """Server-side apply of a child. Without force a field that somebody else set differently is a 409."""
        meta = manifest["metadata"]
        params = {"fieldManager": labels.FIELD_MANAGER, "force": "true" if force else "false"}
        return await self._request(
            "PATCH", kind.path(meta["namespace"], meta["name"]), params=params, body=manifest, content_type=_APPLY
        )

    async def apply_status(self, namespace: str, name: str, uid: str, status: Json) -> Json:
        """Server-side apply of an InferenceService's status. Returns the whole object."""
        body = {
            "apiVersion": INFERENCE_SERVICE.api_version,
            "kind": INFERENCE_SERVICE.name,
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "status": status,
        }
        params = {"fieldManager": labels.STATUS_FIELD_MANAGER, "force": "true"}
        path = f"{INFERENCE_SERVICE.path(namespace, name)}/status"
        return (await self._request("PATCH", path, params=params, body=body, content_type=_APPLY)).body

    async def merge(self, kind: Kind, namespace: str, name: str, patch: Json) -> Json:
        """JSON merge patch."""
        params = {"fieldManager": labels.FIELD_MANAGER}
        path = kind.path(namespace, name)
        return (await self._request("PATCH", path, params=params, body=patch, content_type=_MERGE)).body

    async def delete(self, kind: Kind, namespace: str, name: str, uid: str) -> None:
        """Delete exactly the object with this uid, its dependents in the background. Gone already is fine."""
        body = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
        try:
            await self._request("DELETE", kind.path(namespace, name), body=body)
        except ApiError as error:
            if not error.not_found:
                raise

    async def replace(self, kind: Kind, namespace: str, name: str, body: Json) -> None:
        """Replace an object; a 409 if it is no longer of the resource version in `body`."""
        await self._request("PUT", kind.path(namespace, name), body=body)

    async def create(self, kind: Kind, namespace: str, body: Json) -> None:
        """Create an object."""
        await self._request("POST", kind.path(namespace), body=body)

    async def _request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: Json | None = None,
        accept: str = "application/json",
        content_type: str = "application/json",
    ) -> Written:
        if self._session is None:
            raise RuntimeError("KubeClient is used outside its context")
        headers = {"Accept": accept, "Content-Type": content_type}
        if authorization := await self._authorization():
            headers["Authorization"] = authorization
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        query = {key: value for key, value in (params or {}).items() if value}
        try:
            url = self._configuration.host + path
            async with self._session.request(method, url, params=query, data=data, headers=headers) as response:
                text = await response.read()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ApiError(0, "Unreachable", f"{type(error).__name__} on {method} {path}") from error
        if response.status >= 400:
            raise _api_error(response.status, text)
        return Written(json.loads(text), created=response.status == 201)


def _api_error(status: int, text: bytes) -> ApiError:
    try:
        answer = json.loads(text)
        return ApiError(status, answer.get("reason") or "Error", answer.get("message") or "")
    except (ValueError, AttributeError):
        return ApiError(status, "Error", text[:200].decode(errors="replace"))
