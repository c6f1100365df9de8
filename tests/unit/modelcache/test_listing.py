import pytest

from inference_fleet.modelcache.failure import Failure, ModelError
from inference_fleet.modelcache.keys import LocalLocation, S3Location
from inference_fleet.modelcache.listing import Row, read_listing

HERE = S3Location("models", "m/7b")


def rows(*keys: str, size: int = 5) -> list[Row]:
    return [Row(key, size, '"e"') for key in keys]


def names(location: S3Location | LocalLocation, found: list[Row]) -> list[str]:
    return [file.name for file in read_listing(location, found).files]


WHOLE = rows("m/7b/config.json", "m/7b/a b+c%.bin")


def test_exactly_the_prefix_is_taken_off_and_neighbours_are_left_out() -> None:
    found = [*WHOLE, *rows("m/7b/7b/x.bin", "m/7b-hf/config.json", "m/7b.bin", "x/m/7b/config.json")]

    assert names(HERE, found) == ["7b/x.bin", "a b+c%.bin", "config.json"]


def test_the_digest_and_size_are_of_what_is_kept() -> None:
    more = [*WHOLE, *rows("m/7b-hf/config.json", "m/7b/sub/", "m/7b/.inference-fleet/READY")]

    assert read_listing(HERE, more) == read_listing(HERE, reversed(WHOLE))
    assert read_listing(HERE, more).bytes == 10


def test_folder_markers_are_skipped_with_their_slash_and_without() -> None:
    found = [*WHOLE, *rows("m/7b/sub/", "m/7b/deep", "m/7b/", size=0), *rows("m/7b/deep/x.bin")]

    assert names(HERE, found) == ["a b+c%.bin", "config.json", "deep/x.bin"]


def test_a_whole_bucket_and_a_folder() -> None:
    keys = rows("config.json", "m.safetensors")

    assert names(S3Location("models", ""), keys) == ["config.json", "m.safetensors"]
    assert names(LocalLocation("/data/m"), keys) == ["config.json", "m.safetensors"]


def test_mistral_files_are_a_model() -> None:
    assert names(HERE, rows("m/7b/params.json", "m/7b/consolidated.safetensors"))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([], "Bucket 'models' under prefix 'm/7b' holds no objects."),
        (rows("m/7b-hf/config.json"), "holds no objects."),
        (rows("m/7b/sub/", size=0), "holds no objects."),
        (rows("m/7b/x.safetensors", "m/7b/sub/config.json"), "holds no config.json or params.json"),
        (rows("m/7b/config.json", "m/7b/tokenizer.json"), "holds no weights"),
        ([*rows("m/7b/config.json"), *rows("m/7b/x.bin", size=0)], "holds no weights"),
    ],
)
def test_what_is_no_model(found: list[Row], said: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_listing(HERE, found)
    assert caught.value.failure is Failure.MODEL_MISSING
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("m/7b/../evil", "could leave"),
        ("m/7b/a/../../evil", "could leave"),
        ("m/7b/..", "could leave"),
        ("m/7b//etc/passwd", "could leave"),
        ("m/7b/./x", "could leave"),
        ("m/7b/a\nb", "control character"),
        ("m/7b/a\0b", "control character"),
        ("m/7b/" + "ü" * 200, "longer than 255 bytes"),
        ("m/7b/config.json/x", "cannot be a folder too"),
    ],
)
def test_keys_that_are_no_safe_file_names_are_refused(key: str, said: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_listing(HERE, [*WHOLE, *rows(key)])
    assert caught.value.failure is Failure.MODEL_KEY_REFUSED
    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_weights_by_name_and_size() -> None:
    assert read_listing(HERE, WHOLE).weights() == {"a b+c%.bin": 5}
