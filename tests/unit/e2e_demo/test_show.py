"""What a CI log gets: plain lines, each message once, nothing cut off."""

import pytest

from e2e.demo.show import Screen


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Screen:
    for variable in ("FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(variable, raising=False)
    return Screen()


def test_a_step_in_a_log_is_a_line_per_message(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    with screen.step("Store") as step:
        step.note("starting")
        step.note("starting")
        step.show("a picture", "half of it is there")
        step.done("at http://127.0.0.1:8333\nbucket models")
    first, second, result, more = capsys.readouterr().out.splitlines()
    assert first == "  ... store: starting"
    assert second == "  ... store: half of it is there"
    assert result.startswith("  Store       at http://127.0.0.1:8333  (")
    assert more == "              bucket models"


def test_a_failed_step_tells_no_result(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(OSError, match="no disk"), screen.step("Store") as step:
        step.note("starting")
        raise OSError("no disk")
    assert capsys.readouterr().out == "  ... store: starting\n"


def test_a_log_has_no_control_characters_and_no_broken_lines(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "x" * 300
    screen.heading("Title", long)
    screen.table(("NAME", "WHERE"), [("a", long), ("b" * 20, "-")])
    screen.command(long, "why")
    screen.verbatim("kubectl get", f"{long}\n")
    with screen.waiting() as waiting:
        waiting("never in a log")
        screen.moment(1.5, long)
    out = capsys.readouterr().out
    assert "never" not in out
    assert out.count(long) == 5
    assert all(character.isprintable() or character == "\n" for character in out)
    assert "NAME                   WHERE\n" in out
