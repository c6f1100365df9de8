"""Reading `extraArgs` as the engine's parser would: which flags they hold, under whatever spelling.

vLLM's parser takes `_` for `-`, `--flag=value`, `--flag.key value` for JSON, and, as argparse does, every unambiguous
beginning of a flag; the last copy of a flag wins. So a locked flag is found in all of these. A beginning of a locked
flag that begins other flags too is refused with it: the engine would refuse it as ambiguous.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inference_fleet.api.conditions import Reason
from inference_fleet.catalog.engines import ADDED_FLAGS, LOCKED_FLAGS, REMOVED_FLAGS, EngineVersion

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKmMgG]?)")
_UNITS = {"": 1, "k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one item."""

    reason: Reason
    message: str
    warning: bool = False


def findings(extra_args: Sequence[str], version: EngineVersion, path: str = "engine.extraArgs") -> Iterator[Finding]:
    """What is wrong with each item, in order; `path` names the list in the messages."""
    for number, item in enumerate(extra_args):
        found = _finding(item, version, f"{path}[{number}]")
        if found is not None:
            yield found


def flag_value(extra_args: Sequence[str], *names: str) -> str | None:
    """The value of a flag (any of its `names`, exactly spelled but for `_`), the last copy; "" if it has none."""
    value = None
    for number, item in enumerate(extra_args):
        if flag_of(item) not in names:
            continue
        _, equals, inline = item.partition("=")
        following = extra_args[number + 1] if number + 1 < len(extra_args) else ""
        value = inline if equals else "" if following.startswith("--") else following
    return value


def size_value(extra_args: Sequence[str], *names: str) -> int | None:
    """The value of a flag as a count, with the suffixes that the engine takes: 1k is 1000, 1K is 1024."""
    found = _SIZE.fullmatch(flag_value(extra_args, *names) or "")
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def flag_of(item: str) -> str | None:
    """The flag of an item, with `-` for `_` and without value, JSON key and list mark; None for a value."""
    if not item.startswith("-") or re.match(r"-[\d.]", item):
        return None
    name = re.split(r"[=.\s]", item, maxsplit=1)[0].rstrip("+")
    return name.replace("_", "-") if name.startswith("--") else name


def locked_flag(flag: str) -> str | None:
    """The locked flag that `flag` is or abbreviates."""
    if flag in LOCKED_FLAGS:
        return flag
    if len(flag.lstrip("-")) == 0:
        return None
    return next((locked for locked in LOCKED_FLAGS if locked.startswith(flag)), None)


def _finding(item: str, version: EngineVersion, where: str) -> Finding | None:
    if any(char in item for char in "\n\r\0"):
        return Finding(Reason.INVALID_SPEC, f"{where} holds a line break; each item is one argument on one line.")
    flag = flag_of(item)
    if flag is None:
        return None
    locked = locked_flag(flag)
    if locked is not None:
        spelled = "" if locked == flag else f", which stands for {locked}"
        field = LOCKED_FLAGS[locked]
        return Finding(Reason.LOCKED_FLAG, f"{where} is {item!r}{spelled}: it is locked and follows from {field}.")
    if flag == "--":
        return Finding(Reason.INVALID_SPEC, f"{where} is '--', after which the engine reads no flags; leave it out.")
    if re.search(r"\s", item.partition("=")[0]):
        right = "a flag and its value are two items, or one with '='"
        return Finding(Reason.INVALID_SPEC, f"{where} is {item!r}; {right}.")
    return _version_finding(flag, version, where)


def _version_finding(flag: str, version: EngineVersion, where: str) -> Finding | None:
    added = ADDED_FLAGS.get(flag.replace("--no-", "--"))
    if added is not None and version.number < added:
        message = f"{where}: {flag} came with vLLM {added[0]}.{added[1]}; the image's {version} refuses it."
        return Finding(Reason.INVALID_SPEC, message, warning=not version.known)
    for removed in REMOVED_FLAGS:
        name = removed.name
        same = flag.startswith(name[:-1]) if name.endswith("*") else flag in (name, name.replace("--", "--no-", 1))
        if same and version.number >= removed.removed:
            since = ".".join(map(str, removed.removed))
            message = f"{where}: {flag} was removed in vLLM {since} and this engine would not start; {removed.instead}."
            return Finding(Reason.REMOVED_FLAG, message, warning=not version.known)
    return None
