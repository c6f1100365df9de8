"""Where a moment lies in the users' day and week.

Seasons follow people, so slots are of local wall time: daylight saving moves with the zone. The doubled hour of autumn
falls into the same slots twice, the skipped one of spring leaves its slots as they were.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from inference_fleet.scaling.grid import BIN_SECONDS

SUNDAY = 6


@dataclass(frozen=True, slots=True)
class PlannedEvent:
    """A launch, a campaign, a sale: demand is expected to be `factor` times the usual, or needs `min_replicas`."""

    start: float
    """Unix seconds, included."""
    end: float
    """Unix seconds, not included."""
    factor: float = 1.0
    min_replicas: int = 0


@dataclass(frozen=True, slots=True)
class Calendar:
    """Time zone, holidays and planned events of a service."""

    zone: tzinfo = UTC
    holidays: frozenset[date] = frozenset()
    """Local dates on which people behave as on a Sunday."""
    events: tuple[PlannedEvent, ...] = ()

    def place(self, at: float) -> tuple[int, int]:
        """The slot of ten minutes within the local day, and the weekday (Monday 0), at a Unix time."""
        local = datetime.fromtimestamp(at, self.zone)
        weekday = SUNDAY if local.date() in self.holidays else local.weekday()
        return (local.hour * 3600 + local.minute * 60) // BIN_SECONDS, weekday

    def factor(self, at: float) -> float:
        """How many times the usual demand is expected because of planned events."""
        factor = 1.0
        for event in self._during(at, at + BIN_SECONDS):
            factor *= event.factor
        return factor

    def min_replicas(self, start: float, end: float) -> int:
        """The most replicas that an event between two moments asks for."""
        return max((event.min_replicas for event in self._during(start, end)), default=0)

    def _during(self, start: float, end: float) -> Iterable[PlannedEvent]:
        return (event for event in self.events if event.start < end and start < event.end)
