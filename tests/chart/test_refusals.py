"""Values the chart does not install with."""

from typing import Any

import pytest

from tests.chart.conftest import Template
from tests.chart.values import GPU


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"replicas": 0}, "replicas"),
        ({"replicas": "two"}, "replicas"),
        (
            {"watch": {"namespaces": ["team-a"]}, "secrets": {"namespaces": ["team-b"]}},
            'secrets.namespaces has "team-b", which is not in watch.namespaces',
        ),
        ({"replicaCount": 1}, "replicaCount"),
        ({"image": {"digest": "latest"}}, "digest"),
        ({"nodeCache": {"path": "/"}}, "path"),
        ({"nodeCache": {"path": "/etc"}}, "path"),
        ({"nodeCache": {"path": "/var/lib/../../etc"}}, "path"),
        ({"nodeCache": {"path": "models/here"}}, "path"),
        ({"watch": {"namespaces": ["Team_A"]}}, "namespaces"),
        ({"watch": {"namespaces": ["*"]}}, "namespaces"),
        ({"allowedStoreNetworks": ["minio.storage"]}, "allowedStoreNetworks"),
        ({"gpuCatalog": [{**GPU, "memory": 80}]}, "memory"),
        ({"gpuCatalog": [{"name": "H20"}]}, "product"),
        ({"log": {"level": "loud"}}, "level"),
        ({"resyncSeconds": 1}, "resyncSeconds"),
        ({"workers": "many"}, "workers"),
    ],
    ids=str,
)
def test_bad_values_are_refused_by_name(template: Template, values: dict[str, Any], says: str) -> None:
    done = template(values)
    assert done.returncode != 0
    assert says in done.stderr
