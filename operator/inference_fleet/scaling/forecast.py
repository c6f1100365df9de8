"""What the forecaster says: quantiles of demand for each of the next bins, and how far it deserves to be believed."""

from collections.abc import Mapping
from dataclasses import dataclass

from inference_fleet.scaling.conformal import P90
from inference_fleet.scaling.grid import BIN_SECONDS, Floats


@dataclass(frozen=True, slots=True)
class Forecast:
    """Row k of each array is about the bin that begins at `start + k * 600`; columns are conformal.LEVELS."""

    start: float
    """Unix seconds: the end of the last bin that was learned."""
    point: Floats
    """Expected mean demand per bin."""
    quantiles: Floats
    """Quantiles of the mean demand per bin."""
    high: Floats
    """Quantiles of the highest sample within a bin."""
    weights: Mapping[str, float]
    """Shares of the experts at the longest horizon."""
    skill: float | None
    """1 - error / error of the last value, at the longest horizon, over about three days; None before it is known."""
    coverage: float | None
    """Share of the last three days' bins that stayed under their P90, at the longest horizon."""
    days: float
    """Days of real measurements learned so far."""
    unknown_bins: int
    """Bins since the last real measurement."""

    @property
    def p90(self) -> Floats:
        """The P90 of each bin."""
        return self.quantiles[:, P90]

    def first_row(self, now: float) -> int:
        """The row whose bin `now` lies in: less than the number of rows while the forecast is current."""
        return max(0, int((now - self.start) // BIN_SECONDS))
