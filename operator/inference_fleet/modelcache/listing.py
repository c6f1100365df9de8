"""From the rows of a store's listing to the files of a model.

A prefix of an object store is not a directory: listings match by string, hold neighbours, markers for folders and
whatever names a client chose to write. Everything that could make a copy differ from the folder that the user means
is settled here, before a byte is fetched.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.keys import LocalLocation, S3Location, listing_digest
from inference_fleet.modelcache.layout import PRIVATE_FOLDER

WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
CONFIG_NAMES = ("config.json", "params.json")
_NAME_MAX = 255
"""Longest file name of Linux file systems, in bytes."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object as the store lists it."""

    key: str
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: `name` is relative to the model's directory."""

    name: str
    key: str
    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a model and the digest of exactly these files."""

    files: tuple[ModelFile, ...]
    digest: str

    @property
    def bytes(self) -> int:
        """Size of the whole model."""
        return sum(file.size for file in self.files)

    def weights(self) -> dict[str, int]:
        """Names and sizes of the weight files."""
        return {file.name: file.size for file in self.files if file.name.endswith(WEIGHT_SUFFIXES)}


def read_listing(location: S3Location | LocalLocation, rows: Iterable[Row]) -> Listing:
    """The model that lies under a location, from all rows that the store lists there.

    Raises:
        ModelError: nothing there, no config or weights, or a key that is no safe file name.
    """
    files = _files(location, rows)
    if not files:
        raise ModelError(Failure.MODEL_MISSING, f"{_place(location)} holds no objects.")
    _refuse_conflicts(location, files)
    names = {file.name for file in files}
    if not names.intersection(CONFIG_NAMES):
        wanted = " or ".join(CONFIG_NAMES)
        raise ModelError(Failure.MODEL_MISSING, f"{_place(location)} holds no {wanted}: it is not a model's directory.")
    if not any(file.size and file.name.endswith(WEIGHT_SUFFIXES) for file in files):
        wanted = ", ".join(WEIGHT_SUFFIXES)
        raise ModelError(Failure.MODEL_MISSING, f"{_place(location)} holds no weights ({wanted}).")
    digest = listing_digest((file.name, file.size, file.etag) for file in files)
    return Listing(tuple(files), digest)


def _files(location: S3Location | LocalLocation, rows: Iterable[Row]) -> list[ModelFile]:
    prefix = location.prefix if isinstance(location, S3Location) else ""
    found: dict[str, ModelFile] = {}
    for row in rows:
        if row.key == prefix:
            name = row.key.rpartition("/")[2]
        elif not prefix:
            name = row.key
        elif row.key.startswith(f"{prefix}/"):
            name = row.key.removeprefix(f"{prefix}/")
        else:
            continue  # a neighbour, such as m/7b-hf beside m/7b
        if not name or name.endswith("/") or name.split("/")[0] == PRIVATE_FOLDER:
            continue  # a folder's marker, or what an earlier pull wrote beside the model
        _refuse_unsafe(location, row.key, name)
        found[name] = ModelFile(name, row.key, row.size, row.etag)
    folders = {parent for name in found for parent in _parents(name)}
    # A marker whose slash the client library has taken off: an empty object where others show a folder.
    return sorted((f for f in found.values() if f.size or f.name not in folders), key=lambda file: file.name)


def _refuse_unsafe(location: S3Location | LocalLocation, key: str, name: str) -> None:
    for segment in name.split("/"):
        if segment in ("", ".", ".."):
            problem = "could leave the model's directory"
        elif any(ord(character) < 0x20 or ord(character) == 0x7F for character in segment):
            problem = "holds a control character"
        elif len(segment.encode()) > _NAME_MAX:
            problem = f"has a part longer than {_NAME_MAX} bytes"
        else:
            continue
        raise ModelError(Failure.MODEL_KEY_REFUSED, f"{_place(location)} lists the key {key[:200]!r}, which {problem}.")


def _refuse_conflicts(location: S3Location | LocalLocation, files: list[ModelFile]) -> None:
    names = {file.name for file in files}
    for file in files:
        for parent in _parents(file.name):
            if parent in names:
                raise ModelError(
                    Failure.MODEL_KEY_REFUSED,
                    f"{_place(location)} lists {parent!r} and {file.name!r}: a file cannot be a folder too.",
                )


def _parents(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


def _place(location: S3Location | LocalLocation) -> str:
    if isinstance(location, LocalLocation):
        return f"Folder {location.path!r}"
    where = f"under prefix {location.prefix!r}" if location.prefix else "at its top"
    return f"Bucket {location.bucket!r} {where}"
