from inference_fleet.modelcache.eviction import Room, Version, choose, room_needed

DAY = 86_400.0


def version(name: str, size: int = 100, seconds: float = 10, idle: float = 2 * DAY) -> Version:
    return Version(name, size, seconds, idle)


def names(versions: list[Version]) -> list[str]:
    return [one.name for one in versions]


def test_nothing_is_needed_where_there_is_room() -> None:
    assert room_needed(10, 10) == Room(0, 0)
    assert room_needed(11, 10) == Room(1, 1)
    assert room_needed(10, 40, capacity=100, high=0.7, low=0.5) == Room(0, 0), "60 + 10 is just 70 %"


def test_past_the_high_watermark_the_disk_is_emptied_down_to_the_low_one() -> None:
    assert room_needed(11, 40, capacity=100, high=0.7, low=0.5) == Room(1, 21)
    assert room_needed(11, 40, capacity=100, high=0.7) == Room(1, 1)


def test_the_size_limit_counts_all_models() -> None:
    assert room_needed(10, 1000, cached=130, size_limit=100) == Room(30, 30)


def test_the_least_recently_used_goes_first_and_no_more_than_needed() -> None:
    versions = [version("new", idle=2 * DAY), version("old", idle=9 * DAY), version("older", idle=10 * DAY)]

    assert names(choose(versions, Room(50, 50), DAY)) == ["older"]
    assert names(choose(versions, Room(50, 150), DAY)) == ["older", "old"]


def test_what_costs_more_to_have_back_stays_longer() -> None:
    versions = [version("from afar", seconds=40, idle=3 * DAY), version("near", seconds=10, idle=2 * DAY)]
    assert names(choose(versions, Room(1, 1), DAY)) == ["near"]
    big = [version("70b", size=700, seconds=70, idle=3 * DAY), version("7b", size=70, seconds=7, idle=4 * DAY)]
    assert names(choose(big, Room(1, 1), DAY)) == ["7b"], "at the same rate only the time counts"


def test_a_version_that_was_asked_for_lately_stays() -> None:
    assert choose([version("in use", idle=DAY)], Room(1, 1), DAY) == []


def test_where_all_would_not_do_none_goes() -> None:
    assert choose([version("a"), version("b")], Room(201, 201), DAY) == []
    assert names(choose([version("a"), version("b")], Room(150, 999), DAY)) == ["a", "b"]


def test_a_small_one_that_a_larger_one_made_needless_stays() -> None:
    versions = [
        version("small", size=10, seconds=1, idle=9 * DAY),
        version("large", size=200, seconds=20, idle=3 * DAY),
    ]
    assert names(choose(versions, Room(100, 100), DAY)) == ["large"]
