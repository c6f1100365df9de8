"""Generated files are what their sources make."""

import subprocess
from pathlib import Path

import pytest

from e2e import manifests


def test_the_charts_carry_the_definitions_of_the_repository() -> None:
    copies = manifests.crd_copies()
    assert copies
    assert {path: path.read_text() for path in copies} == copies, "run: python -m e2e.manifests"
    for chart in (manifests.CHART, manifests.CRD_CHART):
        assert set((chart / "files" / "crds").iterdir()) == {path for path in copies if chart in path.parents}


def test_install_yaml_is_the_rendered_chart(helm: Path) -> None:
    text = (manifests.ROOT / "manifests" / "install.yaml").read_text()
    assert text == manifests.install(helm), "run: python -m e2e.manifests"
    assert "Helm" not in text
    assert "helm.sh" not in text


def test_the_argo_cd_configmap_holds_the_health_script() -> None:
    text = (manifests.ROOT / "manifests" / "argocd" / "argocd-cm.yaml").read_text()
    assert text == manifests.argocd_configmap(), "run: python -m e2e.manifests"


@pytest.mark.parametrize("chart", [manifests.CHART, manifests.CRD_CHART], ids=lambda chart: chart.name)
def test_a_packed_chart_is_complete(helm: Path, chart: Path, tmp_path: Path) -> None:
    """What `.helmignore` or a link out of the chart would lose shows only in the archive."""
    subprocess.run([helm, "package", chart, "--destination", tmp_path], check=True, capture_output=True)
    (archive,) = tmp_path.iterdir()

    def rendered(source: Path) -> str:
        command = [str(helm), "template", "x", str(source), "--kube-version", manifests.KUBE_VERSION]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert rendered(archive) == rendered(chart)
