"""Tests of paired differences one by one, corrected by Holm, or Benjamini and Hochberg.

For p values of different sources: the rules of a gate, and the tests that `compare` may be asked
for: Wilcoxon's signed ranks and Student's t. The tables of a report are families of max-T.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.stats import mcnemar, power, sign_flip
from harness.stats.corrections import CORRECTIONS, Correction
from harness.stats.difference_estimate import (
    FAMILYWISE_ERROR_RATE,
    DifferenceEstimate,
    MeanTest,
    Test,
)
from harness.stats.max_t import whole_set_p_value
from harness.stats.paired_units import PairedScores, PairedUnits

Floats = NDArray[np.float64]


def estimate_separately(
    pairs: Sequence[PairedScores],
    seed: int = 0,
    family: int | None = None,
    test: MeanTest = "sign-flip",
    correction: Correction = "holm",
    alarms: float = FAMILYWISE_ERROR_RATE,
) -> list[DifferenceEstimate]:
    """Return the difference of each pair, with its pointwise interval.

    McNemar's exact test where all values are 0 or 1, the swap test for metrics of the whole set,
    else `test`. `family` counts every test that could have been made, where that is more than
    these. `alarms` is how often at most the family may hold a false alarm: `visible`, the smallest
    difference that is found with 80 % power at Holm's first step, depends on it.
    """
    units = [PairedUnits(pair) for pair in pairs]
    defined = [unit for unit in units if unit.difference is not None]
    size = max(family or 0, len(defined))
    if not defined:
        return [unit.untested(size) for unit in units]
    level, draws = alarms / size, sign_flip.draws_for(size, alarms)
    tests = {unit: _choose_test(unit, test) for unit in defined}
    p_values = _p_values(tests, draws, seed)
    visible = power.visible_differences(
        (unit for unit in defined if _has_power(unit, tests[unit], level)),
        lambda unit: mcnemar.wins_that_reject(unit.n, level),
        lambda unit: power.critical_value(unit.units, level),
        seed,
    )
    corrected = CORRECTIONS[correction]([p_values[unit] for unit in defined], size)
    estimates = {
        unit: unit.tested(
            size,
            unit.pointwise,
            tests[unit],
            p_values[unit],
            p,
            visible.get(unit),
            too_few=power.cannot_reject(unit.units, level),
        )
        for unit, p in zip(defined, corrected, strict=True)
    }
    return [estimates[unit] if unit in estimates else unit.untested(size) for unit in units]


def _choose_test(unit: PairedUnits, test: MeanTest) -> Test:
    if unit.pair.total is not None:
        return "swap"
    return "mcnemar" if unit.binary else test


def _has_power(unit: PairedUnits, test: Test, level: float) -> bool:
    """Return whether a smallest visible difference can be worked out.

    With tied scores a shift of the differences says nothing of ranks: none for Wilcoxon's test.
    """
    return test == "mcnemar" or (test != "wilcoxon" and not power.cannot_reject(unit.units, level))


def _p_values(tests: Mapping[PairedUnits, Test], draws: int, seed: int) -> dict[PairedUnits, float]:
    p_values: dict[PairedUnits, float] = {}
    same_length: dict[int, list[PairedUnits]] = defaultdict(list)
    for unit, test in tests.items():
        if unit.pair.total is not None:
            p_values[unit] = whole_set_p_value(unit.left, unit.right, unit.pair.total, draws, seed)
        elif test == "mcnemar":
            p_values[unit] = mcnemar.p_value(unit.wins, unit.losses)
        else:
            same_length[unit.units].append(unit)
    for group in same_length.values():
        table = np.stack([unit.gains for unit in group], axis=1)
        if tests[group[0]] == "t":
            found = student(table)
        elif tests[group[0]] == "wilcoxon":
            found = wilcoxon(table, draws, seed)
        else:
            found = sign_flip.p_values(table, draws, seed)
        p_values |= zip(group, found.tolist(), strict=True)
    return p_values


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
