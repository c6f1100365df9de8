"""Names inside and beside a cached model.

ROOT/<key>/                         the model's files, flat and real, as the store names them
ROOT/<key>/.inference-fleet/        manifest.json, and READY written last
ROOT/.staging-<random>/             a copy in the making, or one on its way out
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

PRIVATE_FOLDER = ".inference-fleet"
MANIFEST = f"{PRIVATE_FOLDER}/manifest.json"
READY = f"{PRIVATE_FOLDER}/READY"
STAGING_PREFIX = ".staging-"
FILE_MODE = 0o644
FOLDER_MODE = 0o755


@dataclass(frozen=True, slots=True)
class CachedFile:
    """One file as it was when it was published. Any later write, even one that keeps the size, moves `mtime_ns`."""

    name: str
    size: int
    etag: str
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a cached model consists of."""

    uri: str
    digest: str
    files: tuple[CachedFile, ...]

    def encode(self) -> bytes:
        """The bytes of manifest.json."""
        return json.dumps(asdict(self), indent=1).encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes) -> "Manifest":
        """The manifest in these bytes.

        Raises:
            ValueError: when they are none.
        """
        try:
            raw = json.loads(data)
            return cls(raw["uri"], raw["digest"], tuple(CachedFile(**file) for file in raw["files"]))
        except (KeyError, TypeError) as error:
            raise ValueError("not a manifest") from error


def ready_marker(manifest: bytes) -> bytes:
    """What READY holds: the hash of the manifest, so that an empty or torn marker or manifest counts as none."""
    return hashlib.sha256(manifest).hexdigest().encode() + b"\n"


def staging_path(dest: Path, random: str) -> Path:
    """A private directory on the same file system as `dest`."""
    return dest.parent / f"{STAGING_PREFIX}{random}"
