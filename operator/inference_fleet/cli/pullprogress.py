"""The progress of a pull on stderr: a bar on a terminal, a line every five seconds in a pod's log."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

from inference_fleet.modelcache.transfer import Progress

INTERVAL_SECONDS = 5.0


@contextlib.contextmanager
def shown_progress() -> Iterator[Callable[[int], Progress]]:
    """Yields what starts the display: called with the bytes to fetch, it returns where written bytes are counted."""
    if not sys.stderr.isatty():
        yield LogLines
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("pull"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:

        def begin(total: int) -> Progress:
            task = bar.add_task("pull", total=total)
            return lambda written: bar.update(task, advance=written)

        yield begin


class LogLines:
    """One line per interval: bytes, rate, time left."""

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._clock = clock
        self._start = self._last = clock()
        self._done = 0

    def __call__(self, written: int) -> None:
        """Count written bytes; print when the interval is over."""
        self._done += written
        now = self._clock()
        if now - self._last < INTERVAL_SECONDS:
            return
        self._last = now
        rate = self._done / (now - self._start)
        left = (self._total - self._done) / rate
        share = 100 * self._done / self._total
        print(  # noqa: T201
            f"pull: {self._done:,} of {self._total:,} bytes ({share:.0f} %), {rate / 1e6:.0f} MB/s, {left:.0f} s left",
            file=sys.stderr,
            flush=True,
        )
