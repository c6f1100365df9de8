import pytest

from inference_fleet.resources.drain import drain_of


def test_every_drain_obeys_the_strict_order() -> None:
    for seconds in range(10, 86_401):
        drain = drain_of(seconds, graceful_engine=True)
        assert drain.shutdown_timeout is not None
        assert 0 < drain.pre_stop < drain.shutdown_timeout < seconds
        assert drain.pre_stop + drain.shutdown_timeout == seconds
        assert seconds + 10 < drain.grace <= seconds + 15


def test_an_engine_that_cannot_drain_gets_the_whole_time_before_the_signal() -> None:
    for seconds in range(10, 86_401):
        drain = drain_of(seconds, graceful_engine=False)
        assert (drain.pre_stop, drain.shutdown_timeout) == (seconds, None)
        assert drain.pre_stop + 10 < drain.grace <= seconds + 15


def test_five_minutes_if_nothing_is_said() -> None:
    drain = drain_of(None, graceful_engine=True)
    assert (drain.pre_stop, drain.shutdown_timeout, drain.grace) == (10, 290, 312)


@pytest.mark.parametrize("seconds", [0, 1, 9])
def test_a_drain_stored_under_a_looser_schema_is_raised_to_the_least(seconds: int) -> None:
    assert drain_of(seconds, graceful_engine=True) == drain_of(10, graceful_engine=True)
