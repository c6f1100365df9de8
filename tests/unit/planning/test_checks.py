from inference_fleet.api.conditions import Reason
from inference_fleet.planning.checks import spec_problems
from tests.unit.planning.shapes import IMAGE, spec


def test_a_good_service_has_no_problems() -> None:
    assert spec_problems(spec(engine={"extraArgs": ["--seed", "1"]}), "chat", default_image=IMAGE) == ()


def test_names_that_would_collide_or_be_too_long_are_refused() -> None:
    (collides,) = spec_problems(spec(), "chat-engines")
    assert collides.reason is Reason.INVALID_SPEC
    assert "'chat'" in collides.message
    (long,) = spec_problems(spec(), "a" * 254)
    assert "253" in long.message


def test_flags_are_found_in_the_service_and_in_its_pools_by_path() -> None:
    service = spec(engine={"extraArgs": ["--seed", "-tp=1"]})
    (found,) = spec_problems(service, "chat", default_image=IMAGE)
    assert found.reason is Reason.LOCKED_FLAG
    assert found.message.startswith("spec.engine.extraArgs[1]")


def test_without_an_image_removed_flags_only_warn() -> None:
    service = spec(engine={"extraArgs": ["--swap-space=1"]})
    assert [problem.warning for problem in spec_problems(service, "chat")] == [True]
    assert [problem.warning for problem in spec_problems(service, "chat", default_image=IMAGE)] == [False]
