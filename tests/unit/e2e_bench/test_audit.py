import json
import math
from pathlib import Path
from typing import Any

from e2e.bench.audit import AuditLog, Write, delays, write

OPERATOR = "system:serviceaccount:inference-fleet-system:inference-fleet"


def event(name: str = "chat", *, received: str = "10.000000", answered: str = "10.250000") -> dict[str, Any]:
    return {
        "user": {"username": OPERATOR},
        "objectRef": {"resource": "services", "namespace": "bench", "name": name},
        "responseStatus": {"code": 201},
        "requestReceivedTimestamp": f"2026-01-01T00:00:{received}Z",
        "stageTimestamp": f"2026-01-01T00:00:{answered}Z",
    }


def at(name: str, received: float) -> Write:
    return Write(OPERATOR, "deployments", "", "bench", name, 200, received, received + 0.5)


def test_an_event_is_read_to_the_microsecond() -> None:
    read = write(event())
    assert (read.resource, read.name, read.code, read.of_child) == ("services", "chat", 201, True)
    assert math.isclose(read.answered - read.received, 0.25)


def test_each_look_gives_what_is_new_and_leaves_a_line_that_is_being_written(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    first, second = json.dumps(event("a")) + "\n", json.dumps(event("b")) + "\n"
    path.write_text("from before\n")
    log = AuditLog(path)
    with path.open("a") as file:
        file.write(first + second[:20])
        file.flush()
        assert [one.name for one in log.new()] == ["a"]
        file.write(second[20:])
        file.flush()
        assert [one.name for one in log.new()] == ["b"]
    assert log.new() == []


def test_a_change_is_answered_by_the_first_write_after_it_of_a_child_of_its_service() -> None:
    service_of = {"chat-h100": "chat", "chat": "chat", "code-h100": "code"}
    children = [at("chat-h100", 9.0), at("code-h100", 10.1), at("chat-h100", 12.0), at("chat", 11.0)]
    assert delays([at("chat", 10.0)], children, service_of) == [0.5]


def test_a_change_that_no_write_follows_is_infinitely_late() -> None:
    assert delays([at("chat", 10.0)], [at("chat-h100", 9.0)], {"chat-h100": "chat"}) == [math.inf]


def test_a_write_that_comes_before_the_answer_to_the_change_took_no_time() -> None:
    assert delays([at("chat", 10.0)], [at("chat-h100", 10.2)], {"chat-h100": "chat"}) == [0.0]
