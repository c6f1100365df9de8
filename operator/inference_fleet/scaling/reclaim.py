"""Giving capacity back: only what nobody has wanted for a while, and step by step. Raising is never delayed.

The highest recommendation of the stabilization window holds, as in a HorizontalPodAutoscaler. Recommendations are
whole replicas rounded up, so a step down always leaves room for the demand that was seen: N replicas become N - 1 only
where N - 1 carry it, and two never become one and two again.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reclaim:
    """How capacity is given back."""

    stabilization: float
    """Seconds during which nothing higher may have been recommended."""
    percent: int
    """Most that one step takes, in percent of what is there, and at least one replica."""
    every: float
    """Seconds between two steps."""


STEADY = Reclaim(stabilization=600, percent=10, every=300)
"""Where the forecast helps: capacity that is needed again soon is not worth a cold start."""
FAST = Reclaim(stabilization=300, percent=25, every=60)
"""Where it does not: bursts end as they begin, and the HPA's own five minutes are enough."""


@dataclass(frozen=True, slots=True)
class Held:
    """A number of replicas with the recommendations that may still hold it up."""

    replicas: int
    window: tuple[tuple[float, int], ...]
    """(time, recommendation), oldest first, each higher than all that follow it."""
    stepped_at: float
    """When it was last lowered."""


def held(now: float, replicas: int) -> Held:
    """Begin from what is there now: a whole window passes before any of it is given back."""
    return Held(replicas, ((now, replicas),), now)


def follow(before: Held, now: float, wanted: int, reclaim: Reclaim) -> Held:
    """The number after one more recommendation."""
    oldest = now - reclaim.stabilization
    window = (*(entry for entry in before.window if entry[1] > wanted and entry[0] >= oldest), (now, wanted))
    highest = window[0][1]
    if highest >= before.replicas:
        return Held(highest, window, before.stepped_at)
    if now - before.stepped_at < reclaim.every:
        return Held(before.replicas, window, before.stepped_at)
    step = max(1, before.replicas * reclaim.percent // 100)
    return Held(max(highest, before.replicas - step), window, now)
