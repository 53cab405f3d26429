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
    pattern of signs p is exact, with ties too, for which scipy has a normal approximation. Ranks
    that point the other way than the mean do not show what the mean says: p = 1. Source: Wilcoxon,
    "Individual Comparisons by Ranking Methods", 1945.
    """
    from scipy.stats import rankdata

    ranks = rankdata(np.abs(table), axis=0) - (table == 0).sum(axis=0)
    signed = np.sign(table) * ranks
    against = np.sign(signed.sum(axis=0)) != np.sign(table.sum(axis=0))
    return np.where(against, 1.0, sign_flip.p_values(signed, draws, seed))


def student(table: Floats) -> Floats:
    """Return the two-sided p value of each column's mean by the paired t test, shape [tests].

    `table` [units, tests] holds the differences. Where all are equal p is 1 if they are 0, else 0;
    under two units it is 1. Source: Student, "The Probable Error of a Mean", 1908.
    """
    from scipy.special import stdtr

    units, tests = table.shape
    if units < 2:
        return np.ones(tests)
    means = np.abs(table.mean(axis=0))
    varies = np.ptp(table, axis=0) > 0
    t = np.where(means > 0, np.inf, 0.0)
    np.divide(means, table.std(axis=0, ddof=1) / np.sqrt(units), out=t, where=varies)
    p_values: Floats = 2 * stdtr(units - 1, -t)
    return p_values
