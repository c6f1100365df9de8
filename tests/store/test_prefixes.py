"""What lies under a prefix: neighbours, markers, odd names, paging (field report B16)."""

from pathlib import Path

import pytest

from e2e.cluster import S3
from tests.store.conftest import Pull
from tests.store.models import BUCKET, put_raw, tree

FILES = {
    "m/7b/config.json": b"{}",
    "m/7b/a b+c%.bin": b"odd",
    "m/7b/7b/x.bin": b"nested",
    "m/7b/%2e%2e/x.bin": b"literal",
    "m/7b-hf/config.json": b"neighbour",
    "m/7b.bin": b"neighbour",
}
MODEL = {"config.json": b"{}", "a b+c%.bin": b"odd", "7b/x.bin": b"nested", "%2e%2e/x.bin": b"literal"}


@pytest.fixture(scope="module", autouse=True)
def stored(s3: S3) -> None:
    s3.put(BUCKET, FILES)
    assert put_raw(s3, "m/7b/sub/", b"") == 200
    assert put_raw(s3, "m/7b/7b/", b"") == 200


@pytest.mark.parametrize("uri", [f"s3://{BUCKET}/m/7b", f"s3://{BUCKET}/m/7b/", f"s3://{BUCKET}//m/7b"])
def test_every_spelling_gives_the_same_tree(pull: Pull, tmp_path: Path, uri: str) -> None:
    result = pull(uri, tmp_path / "model").result

    assert tree(tmp_path / "model") == MODEL
    assert result["files"] == len(MODEL)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("part", ["m/7", "M/7b", "m/7b/config", "nothing"])
def test_what_matches_no_object_is_an_error_that_names_bucket_and_prefix(pull: Pull, tmp_path: Path, part: str) -> None:
    ran = pull(f"s3://{BUCKET}/{part}", tmp_path / "model")

    assert ran.status == 1
    assert f"ModelMissing: Bucket '{BUCKET}' under prefix '{part}' holds no objects." in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        (f"s3://{BUCKET}", "at its top holds no config.json"),
        (f"s3://{BUCKET}/m", "holds no config.json"),
        (f"s3://{BUCKET}/m/7b-hf", "holds no weights"),
        (f"s3://{BUCKET}/m/7b/config.json", "holds no weights"),
        ("s3://no-such-bucket/m/7b", "no such bucket"),
    ],
)
def test_what_is_no_model_is_an_error_at_once(pull: Pull, tmp_path: Path, uri: str, said: str) -> None:
    ran = pull(uri, tmp_path / "model")

    assert ran.status == 1
    assert "ModelMissing" in ran.err
    assert said in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_listing_of_many_pages_is_complete(s3: S3, pull: Pull, tmp_path: Path, prefix: str) -> None:
    many = {f"{prefix}/part-{number:04}.bin": b"%d" % number for number in range(1005)}
    s3.put(BUCKET, {f"{prefix}/config.json": b"{}", **many})

    assert pull(f"s3://{BUCKET}/{prefix}", tmp_path / "model").result["files"] == 1006
    assert tree(tmp_path / "model")["part-1004.bin"] == b"1004"


def test_a_folder_is_copied_as_well(pull: Pull, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    for name in ("config.json", "a b+c%.bin", "sub/x.bin"):
        (source / name).write_text(name)

    for uri, dest in ((str(source), tmp_path / "one"), (f"file://{source}", tmp_path / "two")):
        assert pull(uri, dest).result["cached"] is False
        assert tree(dest) == tree(source)
