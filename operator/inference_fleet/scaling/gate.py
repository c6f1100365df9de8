"""Whether the forecast is worth following: it must have seen a day, hold what it promises, and cost no more.

Not every past helps. Where it does not (bursts without a rhythm), quantiles wide enough to be honest keep more
replicas up than plain reaction with a margin would, at the same share of missed minutes. Both are followed at all times
and held to the same share by their margins, so the cheaper one is the better one.
"""

from enum import StrEnum

from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.margin import Track

FIRST_DAYS = 1.0
_LEAST_COVERAGE = 0.8
_LEAST_SKILL = 0.1
_SETTLED = 6 * 3600.0
"""Costs of a shorter comparison are chance; until then the skill over the last value decides."""
_INDIFFERENT = 0.03
"""An open gate stays open up to this much more cost: one that swings is worse than either side of it."""


class Gate(StrEnum):
    """Why the forecast is followed, or not."""

    OPEN = "ForecastHelps"
    SHORT = "HistoryInsufficient"
    ABSENT = "ForecastAbsent"
    UNCOVERED = "ForecastUnreliable"
    COSTLY = "ForecastDoesNotHelp"


def judge(before: Gate, forecast: Forecast | None, predictive: Track, reactive: Track) -> Gate:
    """The state of the gate from that of the last tick."""
    if forecast is None:
        return Gate.ABSENT
    if forecast.days < FIRST_DAYS:
        return Gate.SHORT
    if forecast.coverage is not None and forecast.coverage < _LEAST_COVERAGE:
        return Gate.UNCOVERED
    if predictive.seconds < _SETTLED:
        return Gate.OPEN if forecast.skill is None or forecast.skill >= _LEAST_SKILL else Gate.COSTLY
    slack = _INDIFFERENT if before is Gate.OPEN else 0.0
    return Gate.OPEN if predictive.cost <= reactive.cost * (1 + slack) else Gate.COSTLY
