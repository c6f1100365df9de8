from inference_fleet.modelcache.journal import Job, entry, read
from inference_fleet.modelcache.layout import RANGE_BYTES
from inference_fleet.modelcache.ranges import Range, bytes_of, ranges_of

JOB = Job("m-1", "s3://models/m at None", "sha256:ab", 5, "boot")


def test_the_ranges_cover_every_byte_once_and_the_longest_come_first() -> None:
    ranges = ranges_of([3, 2 * RANGE_BYTES + 1, 0])

    assert ranges[:2] == [Range(1, 0, 0, RANGE_BYTES), Range(1, 1, RANGE_BYTES, 2 * RANGE_BYTES)]
    assert set(ranges[2:]) == {Range(0, 0, 0, 3), Range(1, 2, 2 * RANGE_BYTES, 2 * RANGE_BYTES + 1)}
    assert bytes_of(ranges) == 2 * RANGE_BYTES + 4


def test_a_journal_survives_a_torn_line() -> None:
    first, second = ranges_of([RANGE_BYTES + 1])
    whole = JOB.encode() + entry(first, 4_000_000_000) + entry(second, 7)

    assert read(whole) == (JOB, {(0, 0): 4_000_000_000, (0, 1): 7})
    assert read(whole[:-1]) == (JOB, {(0, 0): 4_000_000_000}), "7 may be the beginning of 70"
    assert read(whole[:-1] + b"\n\n" + entry(second, 9)) == (JOB, {(0, 0): 4_000_000_000, (0, 1): 9})


def test_without_a_whole_first_line_there_is_no_journal() -> None:
    for data in (b"", JOB.encode()[:-1], b"{}\n", b"[1]\n", b"null\n", b"0 0 1\n"):
        assert read(data) is None


def test_another_source_is_another_job() -> None:
    assert JOB.same_model(Job("m-1", "s3://models/m at None", "sha256:ab", 5, "another boot"))
    assert not JOB.same_model(Job("m-1", "s3://models/m at https://evil", "sha256:ab", 5, "boot"))
    assert not JOB.same_model(Job("m-2", "s3://models/m at None", "sha256:ab", 5, "boot"))
