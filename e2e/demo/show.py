"""What the demo puts on the screen: steps with their time, tables, and nothing that moves where nobody looks.

On a terminal the running step is one line that is redrawn. Anywhere else (a CI log, a file, a pipe) every message is
a line of its own, without control characters.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.status import Status
from rich.text import Text

LOG_WIDTH = "120"
"""Columns where there is no terminal to ask: rich would take 80 and break the bill's formulas."""


@dataclass
class Step:
    """A step that runs: what it tells while it does, and the sentence that stays."""

    screen: "Screen"
    title: str
    outcome: str = ""

    def note(self, text: str) -> None:
        """Tell how far it is."""
        self.screen.note(self.title, text)

    def show(self, picture: RenderableType, text: str) -> None:
        """The same as a picture for a terminal and as a text for a log."""
        self.screen.picture(self.title, picture, text)

    def done(self, outcome: str) -> None:
        """Say what came of it."""
        self.outcome = outcome


class Screen:
    """Where the story is told."""

    def __init__(self, *, still: bool = False) -> None:
        """`still`: never redraw, because programs with an output of their own write between."""
        if not sys.stdout.isatty():
            os.environ.setdefault("COLUMNS", LOG_WIDTH)
        self.console = Console(highlight=False)
        self.moves = self.console.is_terminal and not self.console.is_dumb_terminal and not still
        self._status: Status | None = None
        self._told = ""

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        """Run a step; its line, with the time it took, is there once it has succeeded."""
        step, began = Step(self, title), time.monotonic()
        with self._moving(self._running(title, "")):
            yield step
        seconds = time.monotonic() - began
        first, *more = step.outcome.split("\n")
        head = Text.assemble((f"  {title:<10}", "bold"), f"  {first}")
        self._print(Text.assemble(head, (f"  ({seconds:.1f} s)", "dim")))
        for line in more:
            self._print(Text(f"{'':<14}{line}"))

    def note(self, title: str, text: str) -> None:
        """Tell how far a step is: in its line on a terminal, else in a new one; nothing is told twice."""
        if self._status is not None:
            self._status.update(self._running(title, text))
        elif text != self._told:
            self._print(Text(f"  ... {title.lower()}: {text}"))
        self._told = text

    def picture(self, title: str, picture: RenderableType, text: str) -> None:
        """As `note`, with a picture below the line where it can be redrawn."""
        if self._status is not None:
            self._status.update(Group(self._running(title, ""), Padding(picture, (0, 0, 0, 12))))
        else:
            self.note(title, text)

    @contextmanager
    def waiting(self) -> Iterator[Callable[[str], None]]:
        """Tell on a terminal what is awaited; a log only gets what happens."""
        with self._moving(Text()):
            yield lambda text: self._status.update(Text(text, "dim")) if self._status else None

    @contextmanager
    def _moving(self, first: RenderableType) -> Iterator[None]:
        if not self.moves:
            yield
            return
        with self.console.status(first, spinner="line", spinner_style="cyan") as self._status:
            try:
                yield
            finally:
                self._status = None

    def _running(self, title: str, text: str) -> Text:
        line = Text.assemble((f"{title:<10}", "bold"), (f"  {text}", "dim"))
        line.truncate(max(20, self.console.width - 4), overflow="crop")
        return line

    def heading(self, title: str, explanation: str = "") -> None:
        """Begin a part."""
        self.gap()
        self._print(Text(title, "bold cyan"))
        if explanation:
            self._print(Text(explanation, "dim"))
        self.gap()

    def gap(self) -> None:
        """An empty line."""
        self._print()

    def say(self, text: str) -> None:
        """A sentence of the story."""
        self._print(Text(f"  {text}"))

    def moment(self, seconds: float, text: str) -> None:
        """What happened so many seconds after the beginning."""
        self._print(Text.assemble((f"  {seconds:6.2f} s  ", "cyan"), text))

    def command(self, command: str, why: str = "") -> None:
        """A command to try."""
        self._print(Text.assemble(f"  {command:<52}", (f"  # {why}" if why else "", "dim")))

    def verbatim(self, command: str, output: str) -> None:
        """A command as a reader would type it, and what it printed."""
        self._print(Text.assemble(("  $ ", "dim"), (command, "bold")))
        for line in output.rstrip().splitlines():
            self._print(Text(f"  {line}".rstrip()))

    def _print(self, line: Text | None = None) -> None:
        """One line, broken by the terminal and not by rich; beside a line that is redrawn rich has to count lines."""
        self.console.print(line or Text(), soft_wrap=self._status is None)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table as kubectl prints it: nothing is cut off, whatever the width of the window."""
        widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
        for number, row in enumerate((columns, *rows)):
            line = "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self._print(Text(f"  {line}".rstrip(), "dim" if number == 0 else ""))
