"""A terminal, or a file or pipe: as wide as the terminal, or 120 columns without trailing spaces."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

_PIPE_WIDTH = 120


@contextmanager
def printed() -> Iterator[Console]:
    """A console whose output goes to stdout at the end."""
    piped = not sys.stdout.isatty()
    console = Console(highlight=False, width=_PIPE_WIDTH if piped else None)
    with console.capture() as capture:
        yield console
    text = capture.get()
    if piped:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    sys.stdout.write(text)
