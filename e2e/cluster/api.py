"""The few calls the tool itself makes to the API server: plain HTTPS on one kept connection."""

import http.client
import json
import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from e2e.cluster.errors import ClusterError

MERGE_PATCH = "application/merge-patch+json"


class ApiError(ClusterError):
    """The API server refused a request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Api:
    """A client for one server and one bearer token; close it after use."""

    def __init__(self, server: str, ca_file: Path, token: str) -> None:
        address = urlsplit(server)
        self._token = token
        self._connection = http.client.HTTPSConnection(
            address.hostname or "", address.port, timeout=30, context=ssl.create_default_context(cafile=str(ca_file))
        )

    def request(self, method: str, path: str, body: object = None, content_type: str = "application/json") -> Any:
        """Send one request and give the decoded answer (text where it is not JSON); raise ApiError from 400 up."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": content_type}
        payload = None if body is None else json.dumps(body)
        kept = self._connection.sock is not None
        try:
            response, text = self._exchange(method, path, payload, headers)
        except (http.client.RemoteDisconnected, ConnectionError, ssl.SSLEOFError):
            if not kept:
                raise
            # The server had closed the kept connection before it saw this request.
            response, text = self._exchange(method, path, payload, headers)
        answer: Any = text
        if response.headers.get_content_type() == "application/json":
            answer = json.loads(text)
        if response.status >= 400:
            detail = answer.get("message") if isinstance(answer, dict) else answer
            raise ApiError(response.status, f"{method} {path}: {detail or response.reason}")
        return answer

    def _exchange(
        self, method: str, path: str, payload: str | None, headers: dict[str, str]
    ) -> tuple[http.client.HTTPResponse, str]:
        try:
            self._connection.request(method, path, payload, headers)
            response = self._connection.getresponse()
            return response, response.read().decode()
        except http.client.HTTPException as error:
            self.close()
            raise ConnectionError(str(error)) from error
        except OSError:
            self.close()  # the next request opens a new one
            raise

    def close(self) -> None:
        """Close the connection; a later request opens it again."""
        self._connection.close()
