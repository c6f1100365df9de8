"""Why a model could not be listed or fetched: stable words, and one sentence for a person.

The words that also stand in conditions are the same as in `api.conditions.Reason`.
"""

import errno
from enum import StrEnum


class Failure(StrEnum):
    """The kind of failure; never renamed, because alerts and the operator match it."""

    MODEL_MISSING = "ModelMissing"
    MODEL_CHANGED = "ModelChanged"
    MODEL_KEY_REFUSED = "ModelKeyRefused"
    STORE_FORBIDDEN = "StoreForbidden"
    STORE_UNREACHABLE = "StoreUnreachable"
    CREDENTIALS_MISSING = "CredentialsMissing"
    NO_SPACE = "NoSpace"
    CACHE_NOT_WRITABLE = "CacheNotWritable"
    CACHE_FAILED = "CacheFailed"


class ModelError(Exception):
    """A failure and its sentence. The sentence holds no credential and nothing that the store sent as a body.

    `transient`: the same request may succeed a moment later.
    """

    def __init__(self, failure: Failure, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.failure = failure
        self.message = message
        self.transient = transient


_DISK = {
    errno.ENOSPC: Failure.NO_SPACE,
    errno.EDQUOT: Failure.NO_SPACE,
    errno.EFBIG: Failure.NO_SPACE,
    errno.EACCES: Failure.CACHE_NOT_WRITABLE,
    errno.EPERM: Failure.CACHE_NOT_WRITABLE,
    errno.EROFS: Failure.CACHE_NOT_WRITABLE,
}


def disk_error(error: OSError, doing: str) -> ModelError:
    """The failure that an error of the cache's file system stands for; `doing` completes "Cannot ..."."""
    failure = _DISK.get(error.errno or 0, Failure.CACHE_FAILED)
    return ModelError(failure, f"Cannot {doing}: {error.strerror or type(error).__name__}.")
