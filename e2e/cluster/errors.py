"""What goes wrong with a cluster, and waiting for what should go right."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class ClusterError(Exception):
    """One sentence for a person; a component's last log lines may follow it."""


def wait_for(
    what: str,
    check: Callable[[], T | None],
    *,
    seconds: float,
    every: float = 0.1,
    on_timeout: Callable[[], str] = lambda: "",
) -> T:
    """Poll `check` until it answers something true; a deadline turns silence into a sentence.

    `check` says "not yet" with None or a false value. What it raises is not swallowed: a check that can fail for
    a passing reason handles that reason itself.
    """
    deadline = time.monotonic() + seconds
    while True:
        if answer := check():
            return answer
        if time.monotonic() >= deadline:
            detail = on_timeout()
            raise ClusterError(f"{what} did not happen within {seconds:g} s" + (f"\n{detail}" if detail else ""))
        time.sleep(every)
