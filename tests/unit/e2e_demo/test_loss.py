"""The moments of a lost node, from events as the API server sends them."""

from datetime import UTC, datetime
from typing import Any

from e2e.demo.loss import NODE_CONTROLLER, Moment, NodeLoss, promotion_seconds
from inference_fleet.api import labels


def node(name: str = "h100-0", ready: str = "True") -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def pod(name: str, role: str, *, ready: bool = True, deleting: bool = False) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "labels": {labels.ROLE: role}}
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    status = "True" if ready else "False"
    return {
        "kind": "Pod",
        "metadata": metadata,
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": status}]},
    }


def loss() -> NodeLoss:
    before = {"lost": "serving", "other": "serving", "standby": "warm"}
    return NodeLoss(node="h100-0", pool="h100", lost="lost", pods=before)


def test_each_moment_is_told_once_with_its_time() -> None:
    events = [
        node(),
        node("h100-1", ready="Unknown"),
        node(ready="Unknown"),
        node(ready="Unknown"),
        pod("lost", "serving", ready=False),
        pod("lost", "warm", ready=False),
        pod("standby", "serving"),
        pod("standby", "serving"),
        pod("lost", "warm", ready=False, deleting=True),
        pod("new", "serving", ready=False),
        pod("new", "warm", ready=False),
        pod("new", "warm"),
    ]
    story = loss()
    told = [(at, moment) for at, event in enumerate(events) for moment in story.see(at, event)]
    assert told == [
        (2, Moment.NODE_NOT_READY),
        (6, Moment.PROMOTED),
        (8, Moment.EVICTED),
        (9, Moment.REPLACED),
        (11, Moment.REFILLED),
    ]
    assert story.over
    assert (story.promoted, story.replacement) == ("standby", "new")
    assert story.between(Moment.NODE_NOT_READY, Moment.PROMOTED) == 4


def test_a_loaded_pod_that_serves_is_no_standby() -> None:
    story = loss()
    assert list(story.see(1, pod("new", "serving"))) == [Moment.REPLACED]
    assert not story.over


def test_pods_that_go_on_as_before_tell_nothing() -> None:
    story = loss()
    assert not list(story.see(1, pod("other", "serving")))
    assert not list(story.see(2, pod("standby", "warm")))


def write(at: str, user: str, resource: str, name: str, subresource: str | None = None) -> dict[str, Any]:
    return {
        "stageTimestamp": f"2026-01-01T00:00:{at}Z",
        "user": {"username": user},
        "objectRef": {"resource": resource, "name": name, "subresource": subresource},
    }


def test_the_promotion_is_timed_between_the_two_writes() -> None:
    story = loss()
    story.promoted = "standby"
    since = datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC)
    before = [
        write("01.000000", NODE_CONTROLLER, "nodes", "h100-0", "status"),
        write("02.000000", "operator", "pods", "standby"),
    ]
    after = [
        write("12.000000", "operator", "pods", "standby"),
        write("20.100000", "kwok", "nodes", "h100-0", "status"),
        write("20.500000", NODE_CONTROLLER, "nodes", "h100-1", "status"),
        write("21.000000", NODE_CONTROLLER, "nodes", "h100-0", "status"),
        write("21.010000", NODE_CONTROLLER, "pods", "standby", "status"),
        write("21.012000", "operator", "pods", "other"),
        write("21.025000", "operator", "pods", "standby"),
        write("22.000000", "operator", "pods", "standby"),
    ]
    assert promotion_seconds([*before, *after], story, since, "operator") == 0.025
    assert promotion_seconds(before, story, since, "operator") is None
