"""Prometheus metrics of the operator: what the loop counts, and the fleet as it is when it is scraped."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from inference_fleet.observability.fleetmetrics import Statuses, fleet_text

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
        self._statuses: Statuses = lambda: ()
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

    def follow_fleet(self, statuses: Statuses) -> None:
        """Show the pools of every service."""
        self._statuses = statuses

    def text(self) -> bytes:
        """The text format."""
        return generate_latest(self.registry) + fleet_text(self._statuses).encode()
