from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from inference_fleet.scaling.calendar import Calendar, PlannedEvent

BERLIN = ZoneInfo("Europe/Berlin")


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize("moment", ["2026-03-28T08:00:00+01:00", "2026-03-30T08:00:00+02:00"])
def test_eight_in_the_morning_is_the_same_slot_before_and_after_daylight_saving(moment: str) -> None:
    assert Calendar(zone=BERLIN).place(at(moment))[0] == 48


def test_the_doubled_hour_falls_into_the_same_slots() -> None:
    calendar = Calendar(zone=BERLIN)
    assert calendar.place(at("2026-10-25T02:30:00+02:00")) == calendar.place(at("2026-10-25T02:30:00+01:00"))


def test_the_day_is_the_users_day() -> None:
    moment = at("2026-01-05T20:00:00Z")
    assert Calendar().place(moment) == (120, 0)
    assert Calendar(zone=ZoneInfo("Asia/Shanghai")).place(moment) == (24, 1)


def test_a_holiday_is_a_sunday() -> None:
    calendar = Calendar(holidays=frozenset({date(2026, 1, 6)}))
    assert calendar.place(at("2026-01-06T12:00:00Z"))[1] == 6
    assert calendar.place(at("2026-01-07T12:00:00Z"))[1] == 2


def test_events_multiply_while_they_last_and_ask_for_replicas() -> None:
    calendar = Calendar(events=(PlannedEvent(1200, 2400, factor=2.0), PlannedEvent(1800, 2400, 1.5, min_replicas=9)))
    assert [calendar.factor(float(begin)) for begin in (600, 1200, 1800, 2400)] == [1.0, 2.0, 3.0, 1.0]
    assert calendar.min_replicas(0, 1200) == 0
    assert calendar.min_replicas(1000, 1900) == 9
