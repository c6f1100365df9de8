"""Roles are tested by their outcome: the pods after the changes were applied, one by one, as the operator would."""

import dataclasses
import random
from collections.abc import Iterator, Sequence

import pytest

from inference_fleet.warmpool.pods import PodView, RoleChange
from inference_fleet.warmpool.roles import assign_roles

SERVING, WARM = "serving", "warm"


def pod(name: str, role: str = SERVING, *, ready: bool = True, lock: str = "new", since: int = 0) -> PodView:
    return PodView(
        name=name,
        uid=f"uid-{name}",
        role=role,
        ready=ready,
        created=f"2026-01-01T00:{since:02d}:00Z",
        ready_since=f"2026-01-01T01:{since:02d}:00Z" if ready else None,
        lock=lock,
        deletion_cost="-100" if role == WARM else None,
    )


def applied(pods: Sequence[PodView], changes: Sequence[RoleChange]) -> list[PodView]:
    by_uid = {change.uid: change for change in changes}
    return [
        dataclasses.replace(seen, role=by_uid[seen.uid].role, deletion_cost=by_uid[seen.uid].deletion_cost)
        if seen.uid in by_uid
        else seen
        for seen in pods
    ]


def serving(pods: Sequence[PodView]) -> set[str]:
    return {seen.name for seen in pods if seen.role == SERVING and not seen.deleting and not seen.failed}


def serving_after(pods: Sequence[PodView], target: int, lock: str = "new") -> set[str]:
    return serving(applied(pods, assign_roles(pods, target, lock)))


def test_a_fleet_at_rest_is_left_alone() -> None:
    pods = [pod("a"), pod("b"), pod("c", WARM)]
    assert assign_roles(pods, 2, "new") == ()


def test_newborn_surplus_is_demoted_before_it_is_ready() -> None:
    pods = [pod("a"), pod("b"), pod("c", ready=False)]
    assert assign_roles(pods, 2, "new") == (RoleChange("c", "uid-c", WARM, "-100"),)


def test_loading_pods_keep_serving_while_slots_are_free() -> None:
    pods = [pod("a", ready=False, since=1), pod("b", ready=False, since=2), pod("c", ready=False, since=3)]
    assert serving_after(pods, 2) == {"a", "b"}


@pytest.mark.parametrize(
    "lost", [dataclasses.replace(pod("b"), deleting=True), dataclasses.replace(pod("b", ready=False), failed=True)]
)
def test_a_ready_standby_takes_the_place_of_a_lost_pod(lost: PodView) -> None:
    assert serving_after([pod("a"), lost, pod("c", WARM), pod("d", ready=False)], 2) == {"a", "c"}


def test_an_unready_pod_gives_its_slot_to_a_ready_standby_and_does_not_take_it_back() -> None:
    pods = [pod("a", ready=False), pod("b"), pod("c", WARM)]
    pods = applied(pods, assign_roles(pods, 2, "new"))
    assert serving(pods) == {"b", "c"}
    recovered = [dataclasses.replace(seen, ready=True, ready_since="2026-01-01T00:00:00Z") for seen in pods]
    assert assign_roles(recovered, 2, "new") == ()


def test_without_a_ready_standby_an_unready_pod_keeps_its_role() -> None:
    assert assign_roles([pod("a", ready=False, since=5), pod("b", WARM, ready=False)], 1, "new") == ()


def test_the_longest_ready_standby_is_promoted() -> None:
    pods = [pod("a"), pod("young", WARM, since=9), pod("old", WARM, since=2)]
    assert serving_after(pods, 2) == {"a", "old"}


def test_in_a_rollout_each_ready_new_pod_displaces_an_old_serving_one() -> None:
    old = [pod("old1", lock="old", since=1), pod("old2", lock="old", since=2)]
    assert serving_after([*old, pod("new1", WARM, ready=False)], 2) == {"old1", "old2"}
    assert serving_after([*old, pod("new1", WARM)], 2) == {"old1", "new1"}
    assert serving_after([*old, pod("new1", WARM), pod("new2", WARM)], 2) == {"new1", "new2"}


def test_demotions_come_before_promotions() -> None:
    pods = [pod("c", WARM), pod("a", ready=False), pod("b", ready=False), pod("d", WARM)]
    assert [change.role for change in assign_roles(pods, 2, "new")] == [WARM, WARM, SERVING, SERVING]


def test_a_promoted_pod_loses_its_deletion_cost_and_a_bare_warm_pod_gets_one() -> None:
    bare = dataclasses.replace(pod("b", WARM, since=1), deletion_cost=None)
    pods = [pod("a", WARM), bare]
    assert assign_roles(pods, 1, "new") == (
        RoleChange("b", "uid-b", WARM, "-100"),
        RoleChange("a", "uid-a", SERVING, None),
    )


def test_a_pod_whose_role_was_taken_off_gets_one_again() -> None:
    assert assign_roles([dataclasses.replace(pod("a"), role="")], 1, "new") == (
        RoleChange("a", "uid-a", SERVING, None),
    )


def test_a_pool_scaled_to_zero_serves_nothing() -> None:
    assert serving_after([pod("a"), pod("b", WARM)], 0) == set()


def random_pods(rng: random.Random) -> list[PodView]:
    pods = []
    for number in range(rng.randrange(0, 12)):
        ready = rng.random() < 0.6
        seen = pod(f"p{number}", rng.choice([SERVING, WARM, ""]), ready=ready, since=rng.randrange(60))
        pods.append(
            dataclasses.replace(
                seen,
                lock=rng.choice(["new", "old"]),
                deleting=rng.random() < 0.15,
                failed=not ready and rng.random() < 0.2,
                deletion_cost=rng.choice([None, "-100", "7"]),
            )
        )
    return pods


def fleets() -> Iterator[tuple[random.Random, list[PodView], int]]:
    rng = random.Random(20260101)  # noqa: S311
    for _ in range(2000):
        yield rng, random_pods(rng), rng.randrange(0, 12)


def test_any_fleet_settles_in_one_step_whatever_the_order_of_its_pods() -> None:
    for rng, pods, target in fleets():
        changes = assign_roles(pods, target, "new")
        assert assign_roles(applied(pods, changes), target, "new") == ()
        shuffled = rng.sample(pods, len(pods))
        assert set(assign_roles(shuffled, target, "new")) == set(changes)


def test_any_fleet_keeps_the_promises() -> None:
    for _, pods, target in fleets():
        changes = assign_roles(pods, target, "new")
        after = applied(pods, changes)
        living = [seen for seen in after if not seen.deleting and not seen.failed]
        chosen = [seen for seen in living if seen.role == SERVING]
        spare = [seen for seen in living if seen.role == WARM]
        assert len(chosen) == min(target, len(living))
        assert len(chosen) + len(spare) == len(living)
        if any(seen.ready for seen in spare):
            assert all(seen.ready for seen in chosen)
        if any(seen.ready and seen.lock == "new" for seen in spare):
            assert all(seen.lock == "new" for seen in chosen)
        assert {change.uid for change in changes} <= {seen.uid for seen in living}


def test_the_serving_pods_never_pass_the_target_on_the_way() -> None:
    for _, pods, target in fleets():
        changes = assign_roles(pods, target, "new")
        most = max(target, len(serving(pods)))
        for step in range(len(changes) + 1):
            assert len(serving(applied(pods, changes[:step]))) <= most
