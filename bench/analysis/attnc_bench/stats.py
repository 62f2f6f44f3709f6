"""Small statistics shared by document and comparison: bootstrap intervals of a median."""

from __future__ import annotations

import numpy as np

RESAMPLES = 2000


def resampled_medians(values: np.ndarray, resamples: int = RESAMPLES, seed: int = 0) -> np.ndarray:
    """Medians of `resamples` draws with replacement; deterministic for a seed. `values` not
    empty."""
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(values), size=(resamples, len(values)))
    return np.median(np.asarray(values)[picks], axis=1)


def bootstrap_median(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Percentile interval of the median; a single value has the interval [value, value], which says
    that nothing is known of its spread and not that it has none."""
    values = np.asarray(values, dtype=float)
    if len(values) == 1:
        return float(values[0]), float(values[0])
    medians = resampled_medians(values, 1000)
    lo, hi = np.percentile(medians, [50 * (1 - level), 50 * (1 + level)])
    return float(lo), float(hi)


def mad(values: np.ndarray) -> float:
    """Median absolute deviation from the median."""
    values = np.asarray(values, dtype=float)
    return float(np.median(np.abs(values - np.median(values))))
