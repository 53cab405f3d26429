"""95 % confidence intervals of means, by closed formulas (METRICS.md, section 4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Method = Literal["wilson", "t", "exact", "max-t", "bonett-price", "bca", "none"]

MIN_SAMPLE_SIZE = 6
_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""
_TAIL_PROBABILITY = 0.025
_MAX_WIDTH_RATIO = 1.75
"""Of the half width to Student's own: where scores hardly vary, the range says nothing."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Interval:
    """A 95 % interval; `low` and `high` are None where there is none, and why."""

    low: float | None
    high: float | None
    method: Method
    reason: str = ""


NOTHING_SCORED = Interval(None, None, "none", "nothing was scored")


def mean_interval(
    values: Sequence[float] | Floats, clusters: Sequence[Hashable] | None = None
) -> Interval:
    """Return the 95 % interval of the mean of `values`, each in [0, 1].

    Wilson where all are 0 or 1, the exact bound where all are equal, else Student's t with half a
    pseudo-observation at each end of the range. `clusters` names the cluster of each value: n is
    then their number, and the standard error allows for what hangs together. None under six, and
    for a descriptive metric that leaves [0, 1]. Source: Wilson, 1927.
    """
    scores = np.asarray(values, dtype=np.float64)
    n = len(scores)
    if not n:
        return NOTHING_SCORED
    if clusters is not None and len(set(clusters)) < n:
        return _cluster_interval(scores, clusters)
    if n < MIN_SAMPLE_SIZE:
        return too_few(n)
    if scores.min() < 0 or scores.max() > 1:
        return _OUT_OF_RANGE
    if bool(((scores == 0) | (scores == 1)).all()) and np.ptp(scores):
        return wilson(float(scores.mean()), n)
    return student(float(scores.mean()), float(scores.std(ddof=1)), n)


def student(mean: float, deviation: float, n: int) -> Interval:
    """Return the interval of a mean in [0, 1] of n values, by Student's t.

    Half a pseudo-observation stands at 0 and half a one at 1, so that a long tail that n values do
    not show is allowed for. Values without a deviation have the exact bound.
    """
    if n < MIN_SAMPLE_SIZE:
        return too_few(n)
    if not 0 <= mean <= 1:
        return _OUT_OF_RANGE
    if deviation <= _ROUNDING:
        share = _TAIL_PROBABILITY ** (1 / n)
        return Interval(mean * share, 1 - (1 - mean) * share, "exact")
    centre = (n * mean + 0.5) / (n + 1)
    variance = (n - 1) * deviation**2 + n * (mean - centre) ** 2
    variance = (variance + 0.5 * (centre**2 + (1 - centre) ** 2)) / n
    half = t_quantile(n) * sqrt(variance / (n + 1))
    limit = _MAX_WIDTH_RATIO * t_quantile(n - 1) * deviation / sqrt(n)
    share = min(1.0, limit / half)
    low, high = (mean + share * (end - mean) for end in (centre - half, centre + half))
    return Interval(max(0.0, low), min(1.0, high), "t")


def wilson(mean: float, n: int) -> Interval:
    """Return the Wilson interval of a share of `n`; n is at least 1."""
    centre = mean + _Z**2 / (2 * n)
    half = _Z * sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2))
    scale = 1 + _Z**2 / n
    low, high = (centre - half) / scale, (centre + half) / scale
    return Interval(max(0.0, low), min(1.0, high), "wilson")


def cluster_deviation(sums: Floats, sizes: Floats) -> float:
    """Return √G times the cluster-robust standard error of Σ sums / Σ sizes, over G clusters."""
    count, total = len(sums), sizes.sum()
    residuals = sums - sums.sum() / total * sizes
    return float(count * np.sqrt((residuals**2).sum() / (count - 1)) / total)


def number_clusters(clusters: Iterable[Hashable]) -> NDArray[np.int64]:
    """Return the number of each cluster, from 0 in the order of their first places."""
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(name, len(numbers)) for name in clusters]
    return np.array(places, dtype=np.int64)


def sum_by_cluster(table: Floats, clusters: Sequence[Hashable]) -> Floats:
    """Return the rows of a table, or the values of a column, summed by cluster."""
    places = number_clusters(clusters)
    sums = np.zeros((places.max(initial=-1) + 1, *table.shape[1:]))
    np.add.at(sums, places, table)
    return sums


def too_few(n: int, unit: str = "n =") -> Interval:
    """Return what stands in an interval's place where there are too few values."""
    return Interval(None, None, "none", f"{unit} {n} is under {MIN_SAMPLE_SIZE}")


def explain_few_groups(size: int) -> str:
    """Return why there is no interval of rows that hang together in too few groups."""
    return f"independent questions: {size}, under {MIN_SAMPLE_SIZE}"


def _cluster_interval(scores: Floats, clusters: Sequence[Hashable]) -> Interval:
    sums = sum_by_cluster(np.stack([scores, np.ones(len(scores))], axis=1), clusters)
    if len(sums) < MIN_SAMPLE_SIZE:
        return too_few(len(sums), "clusters:")
    if scores.min() < 0 or scores.max() > 1:
        return _OUT_OF_RANGE
    return student(float(scores.mean()), cluster_deviation(sums[:, 0], sums[:, 1]), len(sums))


_OUT_OF_RANGE = Interval(None, None, "none", "not from 0 to 1")


@lru_cache(maxsize=1024)
def t_quantile(freedom: int, share: float = 1 - _TAIL_PROBABILITY) -> float:
    """Return the quantile of Student's t, by default the 97.5th percentile."""
    from scipy.special import stdtrit  # scipy.stats takes five times as long to import

    return float(stdtrit(freedom, share))
