"""What Argo CD expects to find in its namespace."""

import base64
import json
import secrets
from pathlib import Path
from typing import Any

import yaml

NAMESPACE = "argocd"
_HEALTH = Path(__file__).parents[2] / "manifests" / "argocd" / "argocd-cm.yaml"
_EMPTY = (
    "argocd-cmd-params-cm",
    "argocd-rbac-cm",
    "argocd-ssh-known-hosts-cm",
    "argocd-tls-certs-cm",
    "argocd-gpg-keys-cm",
)


def _object(api: str, kind: str, name: str, labels: dict[str, str] | None = None, **content: Any) -> dict[str, Any]:
    metadata = {
        "name": name,
        "namespace": NAMESPACE,
        "labels": {"app.kubernetes.io/part-of": "argocd", **(labels or {})},
    }
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **content}


def installation(server: str, token: str, ca_file: Path) -> list[dict[str, Any]]:
    """Give the namespace, the settings (our health script among them), the project and the cluster to sync into."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    settings = yaml.safe_load(_HEALTH.read_text())
    settings["data"] |= {"timeout.reconciliation": "10s", "timeout.reconciliation.jitter": "0s"}
    authority = base64.b64encode(ca_file.read_bytes()).decode()
    config = json.dumps({"bearerToken": token, "tlsClientConfig": {"caData": authority}})
    anywhere = {"namespace": "*", "server": "*"}
    project = {
        "sourceRepos": ["*"],
        "destinations": [anywhere],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    }
    return [
        namespace,
        settings,
        *(_object("v1", "ConfigMap", name) for name in _EMPTY),
        _object("v1", "Secret", "argocd-secret", stringData={"server.secretkey": secrets.token_urlsafe(32)}),
        _object(
            "v1",
            "Secret",
            "local",
            {"argocd.argoproj.io/secret-type": "cluster"},
            stringData={"name": "local", "server": server, "config": config},
        ),
        _object("argoproj.io/v1alpha1", "AppProject", "default", spec=project),
    ]
