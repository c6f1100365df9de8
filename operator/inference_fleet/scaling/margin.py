"""How much more than expected to keep up, learned from how often what was kept up did not suffice.

A quantile per bin is not what users feel: replicas are whole, the floor takes a maximum over the lead time, and what is
given back is given back slowly. So the last step is closed over all of it. Every tick compares demand with what was
promised one refill time ago, when it could still be changed, and moves the margin by

    gain x (missed - budget) per minute,

which settles where the share of missed minutes is the budget (the same idea as adaptive conformal inference, on the
decision instead of a bin). Two ways of scaling, by forecast and by reaction, are kept at the same share of missed
minutes in this way, and so their costs can be compared: that comparison is the gate.
"""

from dataclasses import dataclass, replace

from inference_fleet.scaling.reclaim import Held, Reclaim, follow, held

BUDGET = 0.005
"""Share of time that may be missed: half of the one percent that is promised."""
_COST_MEMORY = 3 * 86_400.0
_LONGEST_TICK = 60.0
"""A longer pause between ticks counts as this long: nobody knows what happened in it."""


@dataclass(frozen=True, slots=True)
class Track:
    """One way of scaling, followed whether or not it is the one in use."""

    margin: float
    total: Held
    """Replicas it keeps up, standby included."""
    promised: tuple[tuple[float, int], ...]
    """(time, replicas) at each change, back to one refill time."""
    cost: float = 0.0
    """Mean replicas kept up over about three days."""
    seconds: float = 0.0
    """How long its cost has been compared."""


def track(now: float, replicas: int, margin: float) -> Track:
    """Begin to follow a way of scaling from what is there now."""
    return Track(margin, held(now, replicas), ((now, replicas),))


@dataclass(frozen=True, slots=True)
class Rules:
    """How a track behaves."""

    gain: float
    """Margin gained by one missed minute."""
    highest: float
    """Bound of the margin."""
    reclaim: Reclaim


@dataclass(frozen=True, slots=True)
class Tick:
    """What both tracks see at one moment."""

    now: float
    elapsed: float
    """Seconds since the last."""
    demand: float
    """In replicas, not rounded."""
    refill: float
    """Seconds from creation to Ready."""
    compared: bool
    """Whether costs count already: not before there is a forecast with a day behind it."""


def advance(before: Track, tick: Tick, wanted: int, rules: Rules) -> Track:
    """Follow a recommendation of `wanted` replicas, and learn from what it would have missed."""
    now = tick.now
    total = follow(before.total, now, wanted, rules.reclaim)
    promised = before.promised
    if total.replicas != promised[-1][1]:
        promised = (*promised, (now, total.replicas))
    while len(promised) > 1 and promised[1][0] <= now - tick.refill:
        promised = promised[1:]
    seconds = min(tick.elapsed, _LONGEST_TICK)
    missed = tick.demand > promised[0][1]
    margin = before.margin + rules.gain * (missed - BUDGET) * seconds / 60
    followed = before.seconds + (seconds if tick.compared else 0.0)
    share = min(1.0, seconds / min(followed, _COST_MEMORY)) if followed else 0.0
    return replace(
        before,
        margin=min(max(margin, 0.0), rules.highest),
        total=total,
        promised=promised,
        cost=before.cost + share * (total.replicas - before.cost),
        seconds=followed,
    )
