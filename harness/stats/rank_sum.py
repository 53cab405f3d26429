"""The Mann-Whitney rank-sum test of two independent samples."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RankSum:
    """How often a value of the first sample is larger than one of the second, ties as a half.

    `larger` is in [0, 1], and 0.5 where neither tends to be larger; `p_value` is two-sided.
    """

    larger: float
    p_value: float


def rank_sum(first: Floats, second: Floats) -> RankSum:
    """Compare two samples of one value or more by the ranks of all their values.

    p is that of the normal distribution, with the variance corrected for ties and the continuity
    correction; it is 1 where all values are equal. Source: Mann & Whitney, "On a Test of Whether
    One of Two Random Variables Is Stochastically Larger than the Other", 1947.
    """
    m, n = len(first), len(second)
    _, places, counts = np.unique(
        np.concatenate([first, second]), return_inverse=True, return_counts=True
    )
    ranks = np.cumsum(counts) - (counts - 1) / 2
    above = float(ranks[places[:m]].sum()) - m * (m + 1) / 2
    every = m + n
    ties = float((counts.astype(np.float64) ** 3 - counts).sum())
    variance = m * n / 12 * (every + 1 - ties / (every * (every - 1)))
    away = max(0.0, abs(above - m * n / 2) - 0.5)
    p = 2 * NormalDist().cdf(-away / variance**0.5) if variance > 0 else 1.0
    return RankSum(above / (m * n), min(1.0, p))
