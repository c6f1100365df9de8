import pytest

from inference_fleet.modelcache.layout import CachedFile, Manifest, ready_marker

MANIFEST = Manifest("s3://models/m", "sha256:ab", (CachedFile("a b/ü.bin", 5, '"e"', 1, (7,)),), 2.5)


def test_a_manifest_survives_the_disk() -> None:
    assert Manifest.decode(MANIFEST.encode()) == MANIFEST


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[]", b"null", MANIFEST.encode()[:40], b'{"uri":1,"digest":2,"files":[3]}']
)
def test_anything_else_is_no_manifest(data: bytes) -> None:
    with pytest.raises(ValueError):
        Manifest.decode(data)


def test_the_marker_belongs_to_one_manifest() -> None:
    assert ready_marker(MANIFEST.encode()) != ready_marker(MANIFEST.encode() + b" ")
    assert ready_marker(b"") != b""
