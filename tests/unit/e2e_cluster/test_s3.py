"""A real S3 server; it needs no cluster and starts in seconds."""

from pathlib import Path

from e2e.cluster import S3


def test_files_are_put_into_a_bucket_that_the_first_upload_makes(s3: S3, tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(bytes(9 << 20))
    s3.put("tool-test", {"model/config.json": b"{}", "model/weights": tmp_path / "weights"})
    sizes = {entry["path"]: entry["size"] for entry in s3.store("tool-test").list().collect()}
    assert sizes == {"model/config.json": 2, "model/weights": 9 << 20}
    assert s3.endpoint.startswith("http://127.0.0.1:")
    assert s3.environment["AWS_ACCESS_KEY_ID"] == s3.access_key
