import pytest

from inference_fleet.api import labels
from inference_fleet.resources.build import build_all
from inference_fleet.resources.inputs import Fleet, Manifest
from tests.unit.resources.fleets import deployment_of, fleet, of_kind, spec, template_of


def budget_of(built: Fleet) -> Manifest:
    (budget,) = of_kind(build_all(built), "PodDisruptionBudget")
    return budget


@pytest.mark.parametrize(("serving", "available"), [(0, 0), (1, 0), (2, 1), (20, 19)])
def test_one_serving_pod_may_go_if_nothing_is_said(serving: int, available: int) -> None:
    assert budget_of(fleet(serving=serving))["spec"]["minAvailable"] == available


@pytest.mark.parametrize(("max_unavailable", "available"), [(0, 8), (3, 5), (100, 0)])
def test_the_spec_says_how_many_may_go(max_unavailable: int, available: int) -> None:
    built = fleet(spec(disruption={"maxUnavailable": max_unavailable}), serving=8)
    assert budget_of(built)["spec"]["minAvailable"] == available


def test_standby_pods_do_not_count() -> None:
    assert budget_of(fleet(serving=4, warm=9))["spec"] == budget_of(fleet(serving=4, warm=0))["spec"]


def test_it_covers_serving_pods_and_no_standby() -> None:
    selector = budget_of(fleet())["spec"]["selector"]["matchLabels"]
    pod_labels = template_of(fleet())["metadata"]["labels"]
    assert selector.items() <= pod_labels.items()
    assert not selector.items() <= {**pod_labels, labels.ROLE: labels.ROLE_WARM}.items()


def test_pods_that_are_not_ready_may_always_be_evicted() -> None:
    assert budget_of(fleet())["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_a_change_of_the_serving_pods_changes_the_budget_and_nothing_else() -> None:
    before, after = fleet(standby_pods="aaaa"), fleet(standby_pods="bbbb")
    assert budget_of(before)["metadata"]["annotations"][labels.STANDBY_PODS] == "aaaa"
    assert budget_of(before) != budget_of(after)
    assert deployment_of(before) == deployment_of(after)
    assert labels.STANDBY_PODS not in budget_of(fleet())["metadata"]["annotations"]
