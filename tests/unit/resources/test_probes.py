from inference_fleet.resources.probes import engine_probes, progress_deadline, startup_budget
from tests.unit.resources.fleets import GIB, deployment_of, engine_of, fleet


def test_the_start_of_a_bigger_model_may_take_longer() -> None:
    assert startup_budget(1) >= 600
    assert startup_budget(100 * GIB + 1) >= 1800
    budgets = [startup_budget(size * GIB) for size in range(0, 800, 10)]
    assert budgets == sorted(budgets)
    assert startup_budget(None) > startup_budget(200 * GIB)


def test_the_startup_probe_spends_the_whole_budget() -> None:
    for size in (None, 0, GIB, 141 * GIB + 7):
        probe = engine_probes(size)["startupProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] >= startup_budget(size)


def test_a_rollout_is_given_up_only_after_a_pull_and_a_start() -> None:
    for size in (None, 0, 700 * GIB):
        assert progress_deadline(size) > startup_budget(size) + 600
    built = fleet(model_bytes=700 * GIB)
    assert deployment_of(built)["spec"]["progressDeadlineSeconds"] == progress_deadline(700 * GIB)


def test_a_saturated_engine_stays_in_rotation_and_a_stuck_one_leaves_before_it_is_killed() -> None:
    engine = engine_of(fleet())
    readiness, liveness = engine["readinessProbe"], engine["livenessProbe"]
    assert min(readiness["timeoutSeconds"], liveness["timeoutSeconds"]) > 8
    out_of_rotation = readiness["periodSeconds"] * readiness["failureThreshold"]
    killed = liveness["periodSeconds"] * liveness["failureThreshold"]
    assert killed >= 3 * out_of_rotation


def test_every_probe_asks_the_engines_health() -> None:
    engine = engine_of(fleet())
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert engine[probe]["httpGet"] == {"path": "/health", "port": "http"}
    assert {"name": "http", "containerPort": 8000, "protocol": "TCP"} in engine["ports"]
