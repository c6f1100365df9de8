"""Recursive least squares for all horizons at once: how the coming change follows from the season and the last bins.

w += K (y - x'w), P = (P - K x'P) / forget, K = P x / (forget + x'P x), the textbook recursion, batched over horizons.
The error is clipped (Huber), so that a burst moves the coefficients no more than a large ordinary error would.
"""

import numpy as np

from inference_fleet.scaling.grid import Floats

_FORGET = 0.999
"""A memory of 1000 bins, a week."""
_PRIOR = 20.0
_CLIP = 3.0
_LARGEST = 1e4
"""Bound of P's diagonal: with nothing to learn from, forgetting would let it grow for ever."""


class Regression:
    """Linear models, one per horizon, with a common start."""

    def __init__(self, start: Floats, horizons: int) -> None:
        size = start.size
        self._weights = np.tile(start, (horizons, 1))
        self._covariance = np.tile(np.eye(size) * _PRIOR, (horizons, 1, 1))
        self._spread = np.full(horizons, np.nan)

    def predict(self, features: Floats) -> Floats:
        """Per horizon, from one row of features each."""
        predicted: Floats = np.einsum("hk,hk->h", self._weights, features)
        return predicted

    def learn(self, features: Floats, targets: Floats) -> None:
        """Update the horizons whose features and target are all finite."""
        usable = np.isfinite(targets) & np.isfinite(features).all(axis=1)
        if not usable.any():
            return
        x = np.where(usable[:, None], features, 0.0)
        error = np.where(usable, targets - np.einsum("hk,hk->h", self._weights, x), 0.0)
        size = np.abs(error)
        first = np.isnan(self._spread)
        spread = np.where(first, size, self._spread)
        limit = np.where(first, size, _CLIP * spread)
        error = np.clip(error, -limit, limit)
        self._spread = np.where(usable, spread + 0.02 * (np.minimum(size, 5 * spread) - spread), self._spread)
        px = np.einsum("hij,hj->hi", self._covariance, x)
        gain = px / (_FORGET + np.einsum("hi,hi->h", x, px))[:, None]
        self._weights += gain * error[:, None]
        updated = (self._covariance - gain[:, :, None] * px[:, None, :]) / _FORGET
        fits = usable & (np.einsum("hii->hi", updated).max(axis=1) < _LARGEST)
        self._covariance[fits] = updated[fits]
