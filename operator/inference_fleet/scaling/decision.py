"""The decision of one tick: how many replicas serve, how many stand by, and why. Plain values in and out.

target = max(floor, reactive) within the bounds. The floor is the P90 of the forecast over the lead time; what is kept
up beyond it (towards the P99 of single samples, as far as the margin has learned to be needed) stands by, and serves
only where it would pass the ceiling of the warm pool. Behind a closed gate the floor is the demand seen plus a margin.
The result is a number of replicas, not a change of them: it does not depend on how many are still loading, so a
shortage that is already being met is not met twice.
"""

from dataclasses import dataclass, replace

import numpy as np

from inference_fleet.scaling.conformal import P99
from inference_fleet.scaling.forecast import Forecast
from inference_fleet.scaling.gate import FIRST_DAYS, Gate, judge
from inference_fleet.scaling.margin import Rules, Tick, Track, advance, track
from inference_fleet.scaling.policy import Mode, Policy
from inference_fleet.scaling.reclaim import FAST, STEADY, Held, follow, held

_PREDICTIVE_GAIN, _PREDICTIVE_FIRST, _PREDICTIVE_HIGHEST = 0.02, 0.5, 3.0
"""In units of the distance from the P90 of a bin to the P99 of its highest sample."""
_WIDEST = 0.35
"""That distance counts at most as this share of the P90: spikes of a minute at night are not worth standby all day."""
_REACTIVE_GAIN, _REACTIVE_FIRST, _REACTIVE_HIGHEST = 0.012, 0.3, 1.0
"""As a share of the demand."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What one decision leaves to the next. Small and plain, so that it can be kept over a restart."""

    at: float
    serving: Held
    total: Held
    predictive: Track
    reactive: Track
    gate: Gate = Gate.ABSENT


def begin(now: float, serving: int, warm: int) -> Memory:
    """The memory of a scaler that has just started over a fleet that is already there."""
    total = serving + warm
    return Memory(
        at=now,
        serving=held(now, serving),
        total=held(now, total),
        predictive=track(now, total, _PREDICTIVE_FIRST),
        reactive=track(now, total, _REACTIVE_FIRST),
    )


@dataclass(frozen=True, slots=True)
class Decision:
    """What one tick asks for."""

    serving: int
    warm: int
    floor: int | None
    """Serving replicas that the forecast alone asks for; None without one."""
    reactive: int | None
    """Replicas that the demand of this moment needs; None where it is unknown."""
    gate: Gate
    follows_forecast: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Ahead:
    """The forecast over the lead time, in replicas."""

    floor: int
    cover: int


def decide(
    policy: Policy, memory: Memory, forecast: Forecast | None, demand: float | None, now: float, event_min: int = 0
) -> tuple[Decision, Memory]:
    """Serving and standby replicas for now.

    `demand` is None where it is unknown (absent, NaN, infinite, stale or partial): then the last decision holds, and a
    whole stabilization window of real demand has to pass before anything is given back. `event_min` is what planned
    events within the lead time ask for.
    """
    if demand is None:
        return _hold(policy, memory, now)
    reactive = policy.replicas(demand)
    ahead = None if forecast is None else _ahead(policy, memory.predictive.margin, forecast, now)
    predictive_total = max(reactive, ahead.cover if ahead else 0)
    reactive_total = policy.replicas(demand * (1 + memory.reactive.margin))
    steady, fast = policy.reclaim or STEADY, policy.reclaim or FAST
    tick = Tick(
        now=now,
        elapsed=max(now - memory.at, 0.0),
        demand=demand / policy.capacity,
        refill=policy.refill,
        compared=forecast is not None and forecast.days >= FIRST_DAYS,
    )
    memory = replace(
        memory,
        at=now,
        predictive=advance(
            memory.predictive, tick, predictive_total, Rules(_PREDICTIVE_GAIN, _PREDICTIVE_HIGHEST, steady)
        ),
        reactive=advance(memory.reactive, tick, reactive_total, Rules(_REACTIVE_GAIN, _REACTIVE_HIGHEST, fast)),
    )
    gate = judge(memory.gate, forecast if ahead else None, memory.predictive, memory.reactive)
    follows_forecast = gate is Gate.OPEN and policy.mode is Mode.AUTO
    if ahead is not None and follows_forecast:
        base = max(reactive, ahead.floor)
        serving_wanted = max(base, predictive_total - policy.warm_ceiling(base), event_min)
        total_wanted, reclaim = max(predictive_total, serving_wanted), steady
    else:
        serving_wanted = total_wanted = max(reactive_total, event_min)
        reclaim = fast
    serving = follow(memory.serving, now, policy.bounded(serving_wanted), reclaim)
    total = follow(memory.total, now, max(total_wanted, serving.replicas), reclaim)
    decision = Decision(
        serving=serving.replicas,
        warm=_warm(policy, serving.replicas, total.replicas),
        floor=None if ahead is None else policy.bounded(ahead.floor),
        reactive=reactive,
        gate=gate,
        follows_forecast=follows_forecast,
        reason=_reason(policy, serving_wanted, serving.replicas, reactive, ahead if follows_forecast else None),
    )
    return decision, replace(memory, serving=serving, total=total, gate=gate)


def _hold(policy: Policy, memory: Memory, now: float) -> tuple[Decision, Memory]:
    serving, total = memory.serving.replicas, memory.total.replicas
    decision = Decision(serving, _warm(policy, serving, total), None, None, memory.gate, False, "DemandUnknown")
    # The held number enters the window as if it had been recommended: what is unknown counts as still needed.
    keep = replace(memory.serving, window=((now, serving),)), replace(memory.total, window=((now, total),))
    return decision, replace(memory, at=now, serving=keep[0], total=keep[1])


def _ahead(policy: Policy, margin: float, forecast: Forecast, now: float) -> _Ahead | None:
    """The highest P90 over the lead time, and the highest cover over the refill time: later ones can still be bought.

    None where the forecast is too old to say anything about what comes.
    """
    first, size = forecast.first_row(now), forecast.point.size
    if first >= size:
        return None
    p90 = forecast.p90
    last = min(size, forecast.first_row(now + policy.refill) + 1)
    beyond = np.clip(forecast.high[first:last, P99] - p90[first:last], 0.0, _WIDEST * p90[first:last])
    cover = p90[first:last] + margin * beyond
    floor = policy.replicas(float(p90[first:].max()))
    return _Ahead(floor, max(floor, policy.replicas(float(cover.max()))))


def _warm(policy: Policy, serving: int, total: int) -> int:
    """Standby: what is kept up beyond the serving replicas, between the pool's minimum and its ceiling."""
    if serving <= 0:
        return 0
    return min(max(total - serving, policy.warm_min), policy.warm_ceiling(serving))


def _reason(policy: Policy, wanted: int, serving: int, reactive: int, followed: _Ahead | None) -> str:
    if policy.maximum is not None and wanted > policy.maximum:
        return "AtMaximum" if reactive > policy.maximum else "ForecastExceedsMax"
    if serving > max(wanted, policy.minimum):
        return "Stabilizing"
    if wanted < policy.minimum:
        return "AtMinimum"
    return "Forecast" if followed and wanted > reactive else "Demand"
