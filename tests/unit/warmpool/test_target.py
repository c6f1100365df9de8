import pytest

from inference_fleet.warmpool.target import warm_target


@pytest.mark.parametrize(
    ("serving", "standby"),
    [(0, 0), (1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (8, 2), (9, 3), (100, 25), (1000, 250)],
)
def test_a_quarter_rounded_up_stands_by_unless_told_otherwise(serving: int, standby: int) -> None:
    assert warm_target(serving) == standby


def test_the_minimum_holds_for_a_small_pool_and_not_for_one_that_serves_nothing() -> None:
    assert warm_target(2, percent=10, minimum=3) == 3
    assert warm_target(100, percent=10, minimum=3) == 10
    assert warm_target(0, percent=100, minimum=3) == 0


def test_a_share_that_comes_out_whole_is_not_rounded_up_once_more() -> None:
    assert warm_target(100, percent=7) == 7
    assert warm_target(1000, percent=29) == 290


def test_zero_percent_is_no_standby() -> None:
    assert warm_target(50, percent=0) == 0
