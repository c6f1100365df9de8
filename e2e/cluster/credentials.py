"""Tokens, the key that signs service account tokens, and kubeconfig files."""

import base64
import json
import secrets
from collections.abc import Mapping
from pathlib import Path

from e2e.cluster.errors import ClusterError

ADMIN = "admin"
USERS: Mapping[str, tuple[str, ...]] = {
    ADMIN: ("system:masters",),
    "system:kube-controller-manager": (),
    "system:kube-scheduler": (),
    "kwok": ("system:masters",),
}


def write_private(path: Path, text: str) -> Path:
    """Write a file that only this user may read, from its first byte on."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def make_tokens() -> dict[str, str]:
    """One random bearer token per user, so that the audit log tells the users apart."""
    return {user: secrets.token_urlsafe(32) for user in USERS}


def token_file(tokens: Mapping[str, str]) -> str:
    """Render the API server's static token file."""
    return "".join(f'{token},{user},{user},"{",".join(USERS.get(user, ()))}"\n' for user, token in tokens.items())


def signing_key() -> str:
    """Make a P-256 private key in PEM (RFC 5915).

    The scalar is the whole secret and Go derives the public half, so a fixed DER frame is enough: no openssl, no
    cryptography package. (The chance to draw a scalar outside 1..n-1 is 2**-32 and the server would refuse it.)
    """
    frame = bytes.fromhex("30310201010420") + secrets.token_bytes(32) + bytes.fromhex("a00a06082a8648ce3d030107")
    body = base64.encodebytes(frame).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{body}-----END EC PRIVATE KEY-----\n"


def kubeconfig(server: str, ca_file: Path, user: str, token: str, namespace: str = "default") -> str:
    """Render a kubeconfig with everything inline, so that the file can be copied anywhere (JSON is YAML)."""
    try:
        authority = base64.b64encode(ca_file.read_bytes()).decode()
    except FileNotFoundError:
        raise ClusterError(f"{ca_file} is missing: is the API server up?") from None
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": user, "namespace": namespace}}],
            "current-context": "local",
        },
        indent=2,
    )
