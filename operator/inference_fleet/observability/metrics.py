"""Prometheus metrics of the operator.

Per-pool figures are read from the cache when they are scraped: nothing to keep up to date, nothing left behind by a
deleted service.
"""

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from inference_fleet.api.v1alpha1.status import InferenceServiceStatus

_SECONDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0)


class Metrics:
    """What the loop counts."""

    def __init__(self) -> None:
        """Register everything in a registry of its own."""
        self.registry = CollectorRegistry()
        self._reconciles = Counter(
            "inference_fleet_reconcile_total", "Reconciles by result.", ["result"], registry=self.registry
        )
        self._seconds = Histogram(
            "inference_fleet_reconcile_seconds", "Seconds per reconcile.", buckets=_SECONDS, registry=self.registry
        )
        self._writes = Counter(
            "inference_fleet_writes_total", "Writes to the API server.", ["kind", "verb"], registry=self.registry
        )
        self._depth = Gauge("inference_fleet_workqueue_depth", "Services that wait.", registry=self.registry)

    def reconciled(self, result: str, seconds: float) -> None:
        """Count a reconcile: `ok`, `failed` or `unreachable`."""
        self._reconciles.labels(result).inc()
        self._seconds.observe(seconds)

    def wrote(self, kind: str, verb: str) -> None:
        """Count a write."""
        self._writes.labels(kind, verb).inc()

    def follow_queue(self, depth: Callable[[], float]) -> None:
        """Show the queue's length."""
        self._depth.set_function(depth)

    def follow_fleet(self, statuses: Callable[[], Iterable[tuple[str, str, InferenceServiceStatus]]]) -> None:
        """Show the pools of every (namespace, service, status)."""
        self.registry.register(_Fleet(statuses))

    def text(self) -> bytes:
        """The text format."""
        return generate_latest(self.registry)


class _Fleet(Collector):
    def __init__(self, statuses: Callable[[], Iterable[tuple[str, str, InferenceServiceStatus]]]) -> None:
        self._statuses = statuses

    def collect(self) -> Iterator[Metric]:
        pods = GaugeMetricFamily(
            "inference_fleet_pool_replicas", "Replicas of a pool.", labels=["namespace", "service", "pool", "state"]
        )
        lock = GaugeMetricFamily(
            "inference_fleet_pool_lock_info", "The lock of a pool.", labels=["namespace", "service", "pool", "lock"]
        )
        ready = GaugeMetricFamily("inference_fleet_service_ready", "1 if Ready.", labels=["namespace", "service"])
        for namespace, service, status in self._statuses():
            is_ready = any(c.type == "Ready" and c.status == "True" for c in status.conditions)
            ready.add_metric([namespace, service], float(is_ready))
            for pool in status.pools:
                counts = {
                    "desired_serving": pool.desired_serving,
                    "desired_warm": pool.desired - pool.desired_serving,
                    "serving": pool.serving,
                    "warm": pool.warm,
                    "loading": pool.loading,
                    "draining": pool.draining,
                    "failed": pool.failed,
                }
                for state, count in counts.items():
                    pods.add_metric([namespace, service, pool.name, state], count)
                if pool.lock:
                    lock.add_metric([namespace, service, pool.name, pool.lock], 1)
        yield from (pods, lock, ready)
