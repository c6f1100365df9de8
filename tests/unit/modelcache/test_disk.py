"""Ranges on the disk, on file systems with direct writes and without."""

import os
import zlib
from pathlib import Path

import pytest

from inference_fleet.modelcache.disk import BUFFER_BYTES, RangeWriter, aligned_buffer, allocate, checksum_of

DATA = os.urandom(2 * BUFFER_BYTES + 4096 + 77)


def write(path: Path, start: int, data: bytes, step: int) -> int:
    writer = RangeWriter(path, start, aligned_buffer())
    try:
        for at in range(0, len(data), step):
            writer.write(memoryview(data)[at : at + step])
        writer.finish()
    finally:
        writer.close()
    return writer.checksum


@pytest.mark.parametrize("step", [100_003, 4096, BUFFER_BYTES, len(DATA)])
def test_every_byte_lands_in_its_place(tmp_path: Path, step: int) -> None:
    path = tmp_path / "sub" / "shard"
    allocate(path, 8192 + len(DATA))
    checksum = write(path, 8192, DATA, step)

    assert path.read_bytes() == bytes(8192) + DATA
    assert checksum == zlib.crc32(DATA) == checksum_of(path, 8192, len(DATA))


@pytest.mark.parametrize("refused", ["open", "write"])
def test_where_direct_writes_are_refused_they_are_buffered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    path = tmp_path / "shard"
    allocate(path, len(DATA))
    real_open, real_write = os.open, os.pwrite
    direct: set[int] = set()

    def open_(name: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_DIRECT and refused == "open":
            raise OSError(22, "Invalid argument")
        descriptor = real_open(name, flags, mode)
        (direct.add if flags & os.O_DIRECT else direct.discard)(descriptor)
        return descriptor

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        if descriptor in direct:
            raise OSError(22, "Invalid argument")
        return real_write(descriptor, data, offset)

    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "pwrite", pwrite)
    write(path, 0, DATA, 1 << 20)
    assert path.read_bytes() == DATA


def test_a_file_is_allocated_in_full_and_what_is_in_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "shard"
    allocate(path, 1 << 20)
    assert path.stat().st_size == 1 << 20
    assert path.stat().st_blocks * 512 >= 1 << 20

    path.write_bytes(b"x" * (1 << 20))
    allocate(path, 1 << 20)
    assert path.read_bytes() == b"x" * (1 << 20)


def test_of_what_is_not_there_there_is_no_checksum(tmp_path: Path) -> None:
    assert checksum_of(tmp_path / "none", 0, 5) is None
    (tmp_path / "short").write_bytes(b"1234")
    assert checksum_of(tmp_path / "short", 0, 5) is None
    assert checksum_of(tmp_path / "short", 1, 3) == zlib.crc32(b"234")
