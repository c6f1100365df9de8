from inference_fleet.scaling.reclaim import Held, Reclaim, follow, held

SLOWLY = Reclaim(stabilization=600, percent=10, every=300)


def run(
    state: Held, wanted: list[int], reclaim: Reclaim = SLOWLY, start: float = 0.0, every: float = 60.0
) -> list[int]:
    found = []
    for index, value in enumerate(wanted):
        state = follow(state, start + every * (index + 1), value, reclaim)
        found.append(state.replicas)
    return found


def test_raising_is_immediate() -> None:
    assert run(held(0, 3), [3, 9, 9]) == [3, 9, 9]


def test_nothing_is_given_back_before_the_window_is_over() -> None:
    found = run(held(0, 20), [10] * 12)
    assert found[:10] == [20] * 10
    assert found[10] == 18


def test_a_peak_within_the_window_holds() -> None:
    found = run(held(0, 20), [10] * 8 + [20] + [10] * 9)
    assert set(found) == {20}


def test_steps_are_a_tenth_or_one_replica_every_five_minutes() -> None:
    found = run(held(0, 20), [2] * 60)
    assert found[10:27:5] == [18, 17, 16, 15]
    small = run(held(0, 3), [1] * 30)
    assert sorted(set(small), reverse=True) == [3, 2, 1]


def test_the_window_stays_small() -> None:
    state = held(0, 5)
    for tick in range(2000):
        state = follow(state, 15.0 * tick, 5 - tick % 3, SLOWLY)
    assert len(state.window) <= 4
