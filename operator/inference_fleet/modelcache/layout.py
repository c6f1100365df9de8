"""Names inside and beside a cached model.

ROOT/<key>/                         the model's files, flat and real, as the store names them
ROOT/<key>/.inference-fleet/        manifest.json, READY written last, and `used`, touched by every pull of the model
ROOT/.staging-<random>/             a copy in the making with its journal, or one on its way out
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

PRIVATE_FOLDER = ".inference-fleet"
MANIFEST = f"{PRIVATE_FOLDER}/manifest.json"
READY = f"{PRIVATE_FOLDER}/READY"
USED = f"{PRIVATE_FOLDER}/used"
JOURNAL = f"{PRIVATE_FOLDER}/journal"
STAGING_PREFIX = ".staging-"
FILE_MODE = 0o644
FOLDER_MODE = 0o755
RANGE_BYTES = 32 << 20
"""What one request fetches, one checksum covers and one line of the journal records.

At 90 MB/s a connection, 20 ms until the first byte cost 5 % of it; half of it would cost 10 %.
"""


@dataclass(frozen=True, slots=True)
class CachedFile:
    """One file as it was when it was published. Any later write, even one that keeps the size, moves `mtime_ns`.

    `checksums` are the CRC-32 of every RANGE_BYTES, taken from the bytes as they arrived.
    """

    name: str
    size: int
    etag: str
    mtime_ns: int
    checksums: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a cached model consists of, and the seconds that it took to fetch: what evicting it would cost."""

    uri: str
    digest: str
    files: tuple[CachedFile, ...]
    seconds: float

    @property
    def size(self) -> int:
        """Bytes of the whole model."""
        return sum(file.size for file in self.files)

    def encode(self) -> bytes:
        """The bytes of manifest.json."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> "Manifest":
        """The manifest in these bytes.

        Raises:
            ValueError: when they are none.
        """
        try:
            raw = json.loads(data)
            files = tuple(CachedFile(**{**file, "checksums": tuple(file["checksums"])}) for file in raw["files"])
            return cls(raw["uri"], raw["digest"], files, float(raw["seconds"]))
        except (KeyError, TypeError) as error:
            raise ValueError("not a manifest") from error


def ready_marker(manifest: bytes) -> bytes:
    """What READY holds: the hash of the manifest, so that an empty or torn marker or manifest counts as none."""
    return hashlib.sha256(manifest).hexdigest().encode() + b"\n"


def staging_path(dest: Path, random: str) -> Path:
    """A private directory on the same file system as `dest`."""
    return dest.parent / f"{STAGING_PREFIX}{random}"
