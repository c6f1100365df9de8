"""CPU time and memory of a process, as the kernel accounts them."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """One look at a process."""

    cpu_seconds: float
    """User and system time since its start."""
    rss_mb: float
    """Resident memory now, in 10^6 bytes."""
    peak_mb: float
    """Most resident memory since its start."""


def usage(pid: int) -> Usage:
    """Read /proc/PID/stat and /proc/PID/status; raise FileNotFoundError where there is no such process."""
    stat = Path(f"/proc/{pid}/stat").read_text()
    fields = stat.rpartition(")")[2].split()  # from the third field on: the second may hold spaces
    status = Path(f"/proc/{pid}/status").read_text()
    return Usage(
        cpu_seconds=(int(fields[11]) + int(fields[12])) / _TICKS,
        rss_mb=_megabytes(status, "VmRSS"),
        peak_mb=_megabytes(status, "VmHWM"),
    )


def _megabytes(status: str, field: str) -> float:
    found = re.search(rf"^{field}:\s+(\d+) kB$", status, re.MULTILINE)
    if found is None:
        raise ValueError(f"/proc/PID/status has no {field}")
    return int(found[1]) * 1024 / 1e6
