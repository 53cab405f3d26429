"""Two classical tests of paired differences: Wilcoxon's signed-rank and Student's t test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.stats import sign_flip

Floats = NDArray[np.float64]


def wilcoxon(table: Floats, draws: int, seed: int) -> Floats:
    """Return the two-sided p value of each column's signed ranks, shape [tests].

    `table` [units, tests] holds the differences. Those of 0 are left out, equal ones share the
    mean of their ranks. It is the sign-flip test of the ranks: where `draws` suffice for every
    pattern of signs p is exact, with ties too. Source: Wilcoxon, "Individual Comparisons by
    Ranking Methods", 1945.
    """
    return sign_flip.p_values(signed_ranks(table), draws, seed)


def signed_ranks(table: Floats) -> Floats:
    """Return the rank of each difference's size in its column, with its sign; 0 for one of 0."""
    ranked: Floats = np.apply_along_axis(_rank_column, 0, table)
    return ranked


def student(table: Floats) -> Floats:
    """Return the two-sided p value of each column's mean by the paired t test, shape [tests].

    `table` [units, tests] holds the differences. Where all are equal p is 1 if they are 0, else 0;
    under two units it is 1. Source: Student, "The Probable Error of a Mean", 1908.
    """
    units, tests = table.shape
    if units < 2:
        return np.ones(tests)
    means = table.mean(axis=0)
    all_equal = np.ptp(table, axis=0) == 0
    errors = np.where(all_equal, 1.0, table.std(axis=0, ddof=1) / np.sqrt(units))
    p = _two_sided_tail(np.abs(means) / errors, units - 1)
    p_values: Floats = np.where(all_equal, np.where(means == 0, 1.0, 0.0), p)
    return p_values


def _rank_column(values: Floats) -> Floats:
    sizes, places, counts = np.unique(np.abs(values), return_inverse=True, return_counts=True)
    zeros = counts[0] if sizes[0] == 0 else 0
    ranks = np.cumsum(counts) - (counts - 1) / 2 - zeros
    signed: Floats = np.sign(values) * ranks[places]
    return signed


def _two_sided_tail(t: Floats, freedom: int) -> Floats:
    """Return how often Student's t with whole degrees of freedom is as far from 0.

    Source: Abramowitz & Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
    """
    angle = np.arctan(t / np.sqrt(freedom))
    square = np.cos(angle) ** 2
    odd = freedom % 2
    term = np.cos(angle) if odd else np.ones_like(t)
    series = np.zeros_like(t) if freedom == 1 else term.copy()
    for k in range(2 + odd, freedom - 1, 2):
        term = term * square * (k - 1) / k
        series += term
    inside = np.sin(angle) * series
    if odd:
        inside = (angle + inside) * 2 / np.pi
    outside: Floats = np.clip(1.0 - inside, 0.0, 1.0)
    return outside
