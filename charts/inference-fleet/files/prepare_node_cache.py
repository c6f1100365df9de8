"""Give an empty cache directory of this node to the user that engine pods run as. Arguments: directory, uid, gid.

Kubernetes makes a missing host path as root and never changes its owner. A directory that holds somebody else's files
is left alone: a mistyped path must not hand it over. Kept free of the package, so that it starts in milliseconds.
"""

import os
import sys
from pathlib import Path


def prepare(directory: Path, uid: int, gid: int) -> str | None:
    """Set owner and mode 0755; return why not where the directory is somebody else's."""
    found = directory.stat()
    mine = (found.st_uid, found.st_gid) == (uid, gid)
    if not mine and (not os.access(directory, os.R_OK) or any(directory.iterdir())):
        return (
            f"the cache directory belongs to {found.st_uid}:{found.st_gid} and is not empty: "
            f"give nodeCache.path a directory of its own, or change its owner to {uid}:{gid}"
        )
    directory.chmod(0o755)
    os.chown(directory, uid, gid)
    return None


if __name__ == "__main__":
    sys.exit(prepare(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
