"""Which cached models go when room is needed: whole versions, never one in recent use. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Version:
    """A published copy. `reload_seconds` is what its fetch took; `idle_seconds` the time since a pull asked for it."""

    name: str
    bytes: int
    reload_seconds: float
    idle_seconds: float


@dataclass(frozen=True, slots=True)
class Room:
    """Bytes that must be freed, and that should be freed once something must be."""

    must: int
    should: int


def room_needed(
    need: int,
    free: int,
    *,
    capacity: int = 0,
    cached: int = 0,
    size_limit: int | None = None,
    high: float | None = None,
    low: float | None = None,
) -> Room:
    """What a pull of `need` bytes must have freed.

    Args:
        need: bytes that this pull will still take of the disk.
        free: bytes that nothing takes and no other pull has reserved.
        capacity: of the file system.
        cached: bytes of all models that are cached or being fetched, this one included.
        size_limit: the most that `cached` may be.
        high: the share of the file system that may be in use after the pull.
        low: the share down to which it is emptied once it would pass `high`, so that not every pull evicts.
    """
    over = [need - free]
    if size_limit is not None:
        over.append(cached - size_limit)
    should = 0
    if high is not None:
        used = capacity - free + need
        over.append(used - int(high * capacity))
        if over[-1] > 0:
            should = used - int((high if low is None else low) * capacity)
    must = max(0, *over)
    return Room(must, max(must, should))


def choose(versions: Iterable[Version], room: Room, keep_seconds: float) -> list[Version]:
    """The versions to evict; none if even all of them would not make the room that must be.

    Least recently used first, weighted by what it costs to have them back: idle time times the bytes freed per
    second of fetching them again. Of models from equally fast stores the one idle for longest goes first; one
    that took four times as long per byte stays four times as long. What was asked for within `keep_seconds` stays.
    """
    order = sorted((one for one in versions if one.idle_seconds > keep_seconds), key=_worth_evicting, reverse=True)
    if sum(one.bytes for one in order) < room.must:
        return []
    chosen: list[Version] = []
    for one in order:
        if _freed(chosen) >= room.should:
            break
        chosen.append(one)
    return _without_needless(chosen, min(room.should, _freed(chosen)))


def _worth_evicting(one: Version) -> float:
    return one.idle_seconds * one.bytes / max(one.reload_seconds, 0.001)


def _freed(versions: Sequence[Version]) -> int:
    return sum(one.bytes for one in versions)


def _without_needless(chosen: list[Version], wanted: int) -> list[Version]:
    """Drop those that a larger one chosen later has made needless."""
    kept = list(chosen)
    for one in reversed(chosen):
        if _freed(kept) - one.bytes >= wanted:
            kept.remove(one)
    return kept
