"""Make what is generated from other files of the repository; `python -m e2e.manifests` writes it all.

- charts/*/files/crds: copies of crds/, because Helm reads nothing outside a chart
- manifests/install.yaml: the chart with its own defaults, for `kubectl apply`
- manifests/argocd/argocd-cm.yaml: the health script as Argo CD's ConfigMap wants it

A test compares the files with what this module would write.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from e2e.cluster.binaries import ensure

ROOT = Path(__file__).parents[1]
CHART = ROOT / "charts" / "inference-fleet"
CRD_CHART = ROOT / "charts" / "inference-fleet-crds"
NAMESPACE = "inference-fleet-system"
KUBE_VERSION = "1.35.4"
HEALTH_KEY = "resource.customizations.health.inferencefleet.io_InferenceService"

_HEADER = "# Made by `python -m e2e.manifests`; change what it is made from.\n"
_HELM_ONLY = ("app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy")


class _Dumper(yaml.SafeDumper):
    """Block style for texts of several lines."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _dump(documents: list[dict[str, Any]]) -> str:
    return yaml.dump_all(documents, Dumper=_Dumper, sort_keys=False, width=120, explicit_start=len(documents) > 1)


def crd_copies() -> dict[Path, str]:
    """The definitions as both charts carry them."""
    return {
        chart / "files" / "crds" / source.name: source.read_text()
        for source in sorted((ROOT / "crds").glob("*.yaml"))
        for chart in (CHART, CRD_CHART)
    }


def render_chart(helm: Path, *arguments: str) -> list[dict[str, Any]]:
    """The objects of the chart as Helm renders them. `--kube-version`: without a cluster Helm assumes its own."""
    command = [str(helm), "template", "inference-fleet", str(CHART), "--namespace", NAMESPACE]
    command += ["--kube-version", KUBE_VERSION, *arguments]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr.strip())
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def install(helm: Path) -> str:
    """One file for `kubectl apply`: the namespace, then the chart's objects without what only Helm reads."""
    # The node cache DaemonSet mounts a host path, which every lower level refuses.
    labels = {"app.kubernetes.io/part-of": "inference-fleet", "pod-security.kubernetes.io/enforce": "privileged"}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}}
    return _HEADER + _dump([namespace, *(_without_helm(document) for document in render_chart(helm))])


def _without_helm(document: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(document["metadata"])
    for field in ("labels", "annotations"):
        kept = {key: value for key, value in metadata.pop(field, {}).items() if key not in _HELM_ONLY}
        if kept:
            metadata[field] = kept
    return {**document, "metadata": metadata}


def argocd_configmap() -> str:
    """What to merge into the ConfigMap argocd-cm."""
    script = (ROOT / "manifests" / "argocd" / "health.lua").read_text()
    metadata = {"name": "argocd-cm", "namespace": "argocd", "labels": {"app.kubernetes.io/part-of": "argocd"}}
    data = {HEALTH_KEY: script}
    return _HEADER + _dump([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}])


def main() -> None:
    """Write every generated file. The copies come first: the chart is rendered from them."""
    for path, text in crd_copies().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    helm = ensure(["helm"], lambda line: print(line, file=sys.stderr))["helm"]
    (ROOT / "manifests" / "install.yaml").write_text(install(helm))
    (ROOT / "manifests" / "argocd" / "argocd-cm.yaml").write_text(argocd_configmap())


if __name__ == "__main__":
    main()
