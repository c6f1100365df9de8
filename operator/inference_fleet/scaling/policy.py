"""What the user sets, resolved: one frozen value that each decision gets."""

import math
from dataclasses import dataclass
from enum import StrEnum

from inference_fleet.scaling.grid import BIN_SECONDS
from inference_fleet.scaling.reclaim import Reclaim

DEFAULT_LEAD = 1200.0
_LEAD_MARGIN = 120.0


class Mode(StrEnum):
    """What the forecast may do."""

    OFF = "Off"
    FORECAST_ONLY = "ForecastOnly"
    AUTO = "Auto"


@dataclass(frozen=True, slots=True)
class Policy:
    """How one service scales."""

    capacity: float
    """Demand that one replica carries, in the unit of the demand. Above 0."""
    minimum: int = 1
    maximum: int | None = None
    """Bounds of the serving replicas; standby comes on top."""
    warm_min: int = 0
    warm_percent: int = 25
    """Fewest standby beside serving replicas, and the ceiling in percent of them."""
    lead: float = DEFAULT_LEAD
    """Seconds that the floor looks ahead, at least."""
    refill: float = 300.0
    """Seconds from creation to Ready: the measured P90 where there is one."""
    mode: Mode = Mode.AUTO
    reclaim: Reclaim | None = None
    """None: steady while the forecast is followed, fast otherwise."""

    @property
    def horizons(self) -> int:
        """Bins a forecast must reach: the lead time, or the cold start where that is longer, plus the current bin."""
        return math.ceil(max(self.lead, self.refill + _LEAD_MARGIN) / BIN_SECONDS) + 1

    def replicas(self, demand: float) -> int:
        """Replicas that carry a demand. Rounded up, save for what is only floating-point dust."""
        return math.ceil(demand / self.capacity - 1e-9)

    def bounded(self, replicas: int) -> int:
        """Serving replicas within the user's bounds."""
        replicas = max(replicas, self.minimum)
        return replicas if self.maximum is None else min(replicas, self.maximum)

    def warm_ceiling(self, serving: int) -> int:
        """Most standby beside `serving` replicas; in whole numbers, as 7 % of 100 is not 7.0000000000000009."""
        return max(self.warm_min, -(-self.warm_percent * serving // 100)) if serving > 0 else 0
