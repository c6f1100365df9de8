"""The requests of a transfer: every file in ranges of RANGE_BYTES."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference_fleet.modelcache.layout import RANGE_BYTES


@dataclass(frozen=True, slots=True)
class Range:
    """Bytes [start, end) of one file: the `index`-th range of the `file`-th file."""

    file: int
    index: int
    start: int
    end: int

    @property
    def length(self) -> int:
        """Its bytes."""
        return self.end - self.start


def ranges_of(sizes: Sequence[int]) -> list[Range]:
    """All ranges of files of these sizes, longest first: connections that run out of work then do so together."""
    ranges = [
        Range(file, index, start, min(start + RANGE_BYTES, size))
        for file, size in enumerate(sizes)
        for index, start in enumerate(range(0, size, RANGE_BYTES))
    ]
    return sorted(ranges, key=lambda one: -one.length)


def bytes_of(ranges: Iterable[Range]) -> int:
    """What these ranges hold together."""
    return sum(one.length for one in ranges)
