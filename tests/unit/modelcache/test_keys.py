import pytest

from inference_fleet.modelcache.keys import (
    LocalLocation,
    S3Location,
    cache_key,
    checked_endpoint,
    listing_digest,
    parse_uri,
)

DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize("uri", ["s3://models/m/7b", "s3://models/m/7b/", "s3://models//m/7b", "s3://models/m//7b//"])
def test_spellings_of_one_prefix_are_one_location_and_one_key(uri: str) -> None:
    assert parse_uri(uri) == S3Location("models", "m/7b")
    assert cache_key(uri, None, DIGEST) == cache_key("s3://models/m/7b", None, DIGEST)


@pytest.mark.parametrize("uri", ["s3://models", "s3://models/"])
def test_a_bucket_alone_is_the_whole_bucket(uri: str) -> None:
    assert parse_uri(uri) == S3Location("models", "")


def test_a_prefix_is_taken_byte_for_byte() -> None:
    assert parse_uri("s3://models/a b+c%20/Ü") == S3Location("models", "a b+c%20/Ü")


@pytest.mark.parametrize(("uri", "path"), [("file:///data/m", "/data/m"), ("/data/m", "/data/m"), ("data/m", "data/m")])
def test_folders(uri: str, path: str) -> None:
    assert parse_uri(uri) == LocalLocation(path)


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("", "URI is empty"),
        ("pvc://claim/m", "scheme 'pvc'"),
        ("https://models/m", "scheme 'https'"),
        ("s3:///m", "bucket ''"),
        ("s3://mo dels/m", "bucket 'mo dels'"),
        ("s3://key:secret@host/m", "bucket"),
        ("s3://models/m/../other", "holds '.' or '..'"),
        ("s3://models/./m", "holds '.' or '..'"),
        ("file://m", "no absolute path"),
    ],
)
def test_what_is_no_model_uri_is_named(uri: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace(".", r"\.")):
        parse_uri(uri)


@pytest.mark.parametrize(
    "endpoint", ["minio:9000", "ftp://minio", "https://u:pw@minio", "https://minio/path", "http://"]
)
def test_what_is_no_endpoint_is_refused_and_not_repeated(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"http\(s\)://HOST") as caught:
        checked_endpoint(endpoint)
    assert endpoint not in str(caught.value)


def test_endpoints() -> None:
    assert checked_endpoint("https://minio.storage:9000/") == "https://minio.storage:9000"
    assert checked_endpoint("http://[fd00::1]:9000") == "http://[fd00::1]:9000"
    assert checked_endpoint("") is None


def test_the_digest_names_the_bytes_whatever_the_order() -> None:
    rows = [("config.json", 2, '"a"'), ("m.safetensors", 9, '"b"')]
    digest = listing_digest(rows)

    assert digest == "sha256:414e3ddce23957efa91f8fcfc90253cdf11557f5e00d0602f81a223e0c5b980c"
    assert listing_digest(reversed(rows)) == digest
    for changed in (("config.json", 2, '"c"'), ("config.json", 3, '"a"'), ("other.json", 2, '"a"')):
        assert listing_digest([changed, rows[1]]) != digest


def test_the_key_covers_source_and_digest() -> None:
    keys = {
        cache_key("s3://models/m/7b", None, DIGEST),
        cache_key("s3://models/m/7b", "https://minio:9000", DIGEST),
        cache_key("s3://models/m/7b", None, DIGEST[:-1] + "1"),
        cache_key("s3://models/n/7b", None, DIGEST),
        cache_key("s3://other/m/7b", None, DIGEST),
        cache_key("/models/m/7b", None, DIGEST),
    }
    assert len(keys) == 6
    assert cache_key("s3://models/m", "https://minio/", DIGEST) == cache_key("s3://models/m", "https://minio", DIGEST)


def test_the_key_never_changes_between_releases() -> None:
    assert (
        cache_key("s3://models/llama-3.3-70b-fp8", None, DIGEST) == "llama-3-3-70b-fp8-0f0afaf47f82d7192ec17e35e932e54d"
    )


@pytest.mark.parametrize("uri", ["s3://models/Ünï code/" + "x" * 300, "s3://models/---", "s3://bkt", "/"])
def test_the_key_is_one_short_path_segment(uri: str) -> None:
    key = cache_key(uri, None, DIGEST)

    assert len(key) <= 73
    assert key.replace("-", "").isalnum()
    assert key.isascii()
    assert not key.startswith(("-", "."))
