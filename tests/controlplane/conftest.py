"""Everything in this folder needs the local control plane."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster import Cluster
from e2e.operator_process import OperatorProcess, install
from tests.controlplane.fleet import Fleet

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark this folder's tests, so that `-m "not controlplane"` gives a run of seconds."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.controlplane)


@pytest.fixture(scope="session")
def operator(cluster: Cluster) -> Iterator[OperatorProcess]:
    """The operator under the rights that the manifests give it, in a process of its own."""
    install(cluster)
    process = OperatorProcess(cluster)
    process.start()
    yield process
    process.stop()


@pytest.fixture
def fleet(operator: OperatorProcess, namespace: str) -> Fleet:
    """Make and look at InferenceServices in a namespace of the test's own."""
    fleet = Fleet(operator.cluster, namespace)
    fleet.make_claim()
    return fleet
