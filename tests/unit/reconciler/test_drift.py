"""Meaning is compared, not text."""

from typing import Any

import pytest

from inference_fleet.reconciler.drift import in_sync


def template(**container: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "engine", **container}]}}


@pytest.mark.parametrize(
    ("desired", "live"),
    [
        ({"cpu": "1000m"}, {"cpu": "1"}),
        ({"memory": "2048Mi"}, {"memory": "2Gi"}),
        ({"memory": "1.5Gi"}, {"memory": "1536Mi"}),
        ({"nvidia.com/gpu": 2}, {"nvidia.com/gpu": "2"}),
    ],
)
def test_equal_quantities_are_no_drift(desired: dict[str, Any], live: dict[str, Any]) -> None:
    assert in_sync(template(resources={"requests": desired}), template(resources={"requests": live}))


def test_another_quantity_is_drift() -> None:
    assert not in_sync(
        template(resources={"limits": {"memory": "2Gi"}}), template(resources={"limits": {"memory": "2G"}})
    )


def test_defaults_sidecars_and_stamps_of_others_are_no_drift() -> None:
    desired = {"metadata": {"annotations": {"ours": "1"}}, **template(args=["serve"])}
    live = {
        "metadata": {"annotations": {"ours": "1", "kubectl.kubernetes.io/restartedAt": "now"}},
        "spec": {
            "containers": [{"name": "sidecar"}, {"name": "engine", "args": ["serve"], "terminationMessagePath": "/x"}],
            "dnsPolicy": "ClusterFirst",
        },
    }
    assert in_sync(desired, live)


@pytest.mark.parametrize(
    ("desired", "live"),
    [
        (template(image="a:1"), template(image="a:2")),
        (template(args=["--a", "--b"]), template(args=["--b", "--a"])),
        (template(args=["--a"]), template(args=["--a", "--b"])),
        (template(image="a:1"), {"spec": {"containers": [{"name": "other", "image": "a:1"}]}}),
        ({"spec": {"replicas": 3}}, {"spec": {"replicas": 4}}),
        ({"metadata": {"labels": {"a": "1"}}}, {"metadata": {}}),
        ({"spec": {"enableServiceLinks": False}}, {"spec": {"enableServiceLinks": True}}),
        ({"spec": {"tolerations": [{"key": "a"}]}}, {"spec": {"tolerations": [{"key": "b"}]}}),
    ],
)
def test_a_hand_edit_of_what_was_applied_is_drift(desired: dict[str, Any], live: dict[str, Any]) -> None:
    assert in_sync(desired, desired)
    assert not in_sync(desired, live)
