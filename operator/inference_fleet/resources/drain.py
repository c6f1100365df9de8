"""How long a stopping engine waits and drains: three numbers from one field, `drainSeconds`.

What happens when a pod is deleted, measured on real engines: its endpoint turns `terminating` at once, but routers
learn of it some seconds later; on SIGTERM vLLM lets running requests go on for `--shutdown-timeout` seconds (its
default 0 aborts them), answers new ones with HTTP 500 and keeps `/health` at 200; then it kills the engine, and a
stream that was cut stays open until SIGKILL. An idle engine takes about 10 s to exit. So:

    preStop sleep          covers the delay of routers: new requests still get 200
    shutdown timeout       the rest of drainSeconds, for the running requests
    grace                  preStop + shutdown timeout + 12 s: 10 s of teardown and 2 s of slack. Never much more,
                           or a client whose stream was cut hangs that much longer

An engine without `--shutdown-timeout` (before vLLM 0.19) aborts at SIGTERM: there, the whole drain is preStop sleep.
"""

from dataclasses import dataclass

DEFAULT_DRAIN_SECONDS = 300
MIN_DRAIN_SECONDS = 10

_ROUTER_DELAY_SECONDS = 10
_TEARDOWN_SECONDS = 12


@dataclass(frozen=True, slots=True)
class Drain:
    """Seconds of each step. `shutdown_timeout` is None for an engine that has no such flag."""

    pre_stop: int
    shutdown_timeout: int | None
    grace: int


def drain_of(drain_seconds: int | None, *, graceful_engine: bool) -> Drain:
    """The steps of a drain of `drain_seconds`, 300 if None; fewer than 10 count as 10."""
    total = max(MIN_DRAIN_SECONDS, DEFAULT_DRAIN_SECONDS if drain_seconds is None else drain_seconds)
    grace = total + _TEARDOWN_SECONDS
    if not graceful_engine:
        return Drain(pre_stop=total, shutdown_timeout=None, grace=grace)
    pre_stop = min(_ROUTER_DELAY_SECONDS, total // 4)
    return Drain(pre_stop=pre_stop, shutdown_timeout=total - pre_stop, grace=grace)
