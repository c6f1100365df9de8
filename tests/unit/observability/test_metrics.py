"""What a scrape tells of the fleet."""

from prometheus_client.parser import text_string_to_metric_families

from inference_fleet.observability.metrics import Metrics

STATUS = {
    "conditions": [{"type": "Ready", "status": "True"}],
    "pools": [
        {"name": "h100", "serving": 3, "warm": 1, "desiredServing": 3, "desired": 4, "lock": "abc"},
        {"name": "l4"},
    ],
}


def samples(metrics: Metrics) -> dict[tuple[str, ...], float]:
    families = text_string_to_metric_families(metrics.text().decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_pools_and_locks_are_told_as_the_status_has_them_now() -> None:
    metrics = Metrics()
    statuses = [("team-a", "chat", STATUS), ("team-a", "new", None), ("team-a", "garbage", "x")]
    metrics.follow_fleet(lambda: statuses)
    told = samples(metrics)
    assert told["inference_fleet_service_ready", "team-a", "chat"] == 1
    assert told["inference_fleet_pool_replicas", "team-a", "chat", "h100", "serving"] == 3
    assert told["inference_fleet_pool_replicas", "team-a", "chat", "h100", "desired"] == 4
    assert told["inference_fleet_pool_replicas", "team-a", "chat", "l4", "warm"] == 0
    assert told["inference_fleet_pool_lock_info", "team-a", "chat", "h100", "abc"] == 1
    statuses.clear()
    assert not any("chat" in key for key in samples(metrics))


def test_the_loops_counters_are_told() -> None:
    metrics = Metrics()
    metrics.wrote("Pod", "patch")
    metrics.reconciled("ok", 0.01)
    metrics.follow_queue(lambda: 7)
    told = samples(metrics)
    assert told["inference_fleet_writes_total", "Pod", "patch"] == 1
    assert told["inference_fleet_reconcile_total", "ok"] == 1
    assert told["inference_fleet_workqueue_depth",] == 7
