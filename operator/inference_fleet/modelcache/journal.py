"""What a copy in the making is for, and which of its ranges are written: one file, only ever appended to.

The journal is not synced. After a power cut it may be ahead of the data, so whoever resumes compares every range that
it names with the checksum that it gives.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from inference_fleet.modelcache.ranges import Range


@dataclass(frozen=True, slots=True)
class Job:
    """What is fetched: `digest` names the bytes, `source` where they are from, `name` the directory they become.

    `size` is what it takes of the disk, `boot` the id of the boot of the node that fetches.
    """

    name: str
    source: str
    digest: str
    size: int
    boot: str

    def same_model(self, other: "Job") -> bool:
        """Whether both fetch the same bytes from the same place to the same place."""
        return (self.name, self.source, self.digest) == (other.name, other.source, other.digest)

    def encode(self) -> bytes:
        """The first line of a journal."""
        return json.dumps(asdict(self)).encode() + b"\n"


Written = Mapping[tuple[int, int], int]
"""(file, index of the range) to its CRC-32."""


def entry(one: Range, checksum: int) -> bytes:
    """The line of a range that is written."""
    return b"%d %d %d\n" % (one.file, one.index, checksum)


def read(data: bytes) -> tuple[Job, Written] | None:
    """The job and what is written; None where there is no whole first line. A torn last line counts as none."""
    first, *lines = data.split(b"\n")[:-1] or [b""]
    try:
        job = Job(**json.loads(first))
    except (ValueError, TypeError):
        return None
    written: dict[tuple[int, int], int] = {}
    for line in lines:
        fields = line.split(b" ")
        if len(fields) == 3 and all(field.isdigit() for field in fields):
            file, index, checksum = map(int, fields)
            written[file, index] = checksum
    return job, written
