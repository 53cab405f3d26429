"""How sure a mean is: its interval, by METRICS.md section 4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Method = Literal["bca", "wilson", "exact", "none"]

LEVEL = 0.95
DRAWS = 10_000
_FEWEST = 6
_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""
_BLOCK = 500
_KEPT = 1_000
"""Draws for at most this many values are kept: 40 MB."""


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of a mean; `low` and `high` are None where there is none, and why."""

    low: float | None
    high: float | None
    method: Method
    reason: str = ""


def interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Return the 95 % interval of the mean of `values`, each in [0, 1].

    Wilson where all are 0 or 1, or at least 90 % are one value; the exact bound where all are 1
    (or all 0); BCa bootstrap otherwise. None under six values, or where all equal another value.
    Sources: Wilson, 1927; Efron, "Better Bootstrap Confidence Intervals", 1987.
    """
    scores = np.asarray(values, dtype=np.float64)
    n = len(scores)
    if n < _FEWEST:
        return Interval(None, None, "none", f"n = {n} is under {_FEWEST}")
    unique, counts = np.unique(scores, return_counts=True)
    if len(unique) == 1:
        return _constant(float(unique[0]), n)
    if bool(np.isin(unique, (0.0, 1.0)).all()) or counts.max() >= 0.9 * n:
        return _wilson(float(scores.mean()), n)
    return _bca(scores, seed)


def _constant(value: float, n: int) -> Interval:
    bound = float(((1 - LEVEL) / 2) ** (1 / n))
    if value == 1.0:
        return Interval(bound, 1.0, "exact")
    if value == 0.0:
        return Interval(0.0, 1.0 - bound, "exact")
    return Interval(None, None, "none", "all scores are equal")


def _wilson(mean: float, n: int) -> Interval:
    centre = mean + _Z**2 / (2 * n)
    half = _Z * float(np.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2)))
    scale = 1 + _Z**2 / n
    low, high = (centre - half) / scale, (centre + half) / scale
    return Interval(max(0.0, low), min(1.0, high), "wilson")


def _bca(scores: Floats, seed: int) -> Interval:
    """Bias-corrected and accelerated bootstrap of the mean."""
    normal = NormalDist()
    mean = float(scores.mean())
    means = _resampled_means(scores, seed)
    below = float((means < mean).sum() + 0.5 * (means == mean).sum()) / len(means)
    below = min(max(below, 1 / (2 * len(means))), 1 - 1 / (2 * len(means)))
    bias = normal.inv_cdf(below)
    away = scores - mean
    away /= np.abs(away).max()  # the scale cancels out; the powers of tiny scores would be 0
    acceleration = float((away**3).sum() / (6 * (away**2).sum() ** 1.5))
    ends = []
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(float(np.quantile(means, normal.cdf(bias + z / (1 - acceleration * z)))))
    return Interval(ends[0], ends[1], "bca")


def _resampled_means(scores: Floats, seed: int) -> Floats:
    """Return the mean of each bootstrap draw; metrics with the same n share the same draws."""
    n = len(scores)
    blocks = _kept_draws(n, seed) if n <= _KEPT else _draws(n, seed)
    return np.concatenate([block @ scores for block in blocks]) / n


@lru_cache(maxsize=8)
def _kept_draws(n: int, seed: int) -> tuple[NDArray[np.float32], ...]:
    return tuple(_draws(n, seed))


def _draws(n: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Yield, a block at a time, how often each of `n` values is drawn in each of the draws."""
    generator = np.random.default_rng([seed, n])
    for _ in range(0, DRAWS, _BLOCK):
        drawn = generator.integers(0, n, size=(_BLOCK, n))
        yield np.stack([np.bincount(draw, minlength=n) for draw in drawn]).astype(np.float32)
