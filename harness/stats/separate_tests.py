"""Tests of paired differences one by one, corrected by Holm, or Benjamini and Hochberg.

For p values of different sources: the rules of a gate, and the tests that `compare` may be asked
for. The tables of a report are families of max-T.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.stats import classical, mcnemar, power, sign_flip
from harness.stats.corrections import CORRECTIONS, Correction
from harness.stats.difference_estimate import (
    FAMILYWISE_ERROR_RATE,
    DifferenceEstimate,
    MeanTest,
    Test,
)
from harness.stats.paired_units import PairedScores, PairedUnits

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Plan:
    """What all tests share: the level of Holm's first step, the draws, the seed, the test."""

    level: float
    draws: int
    seed: int
    test: MeanTest


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
    these. `alarms` is how often at most the family may hold a false alarm: `visible` depends on it.
    """
    units = [PairedUnits(pair) for pair in pairs]
    defined = [unit for unit in units if unit.difference is not None]
    size = max(family or 0, len(defined))
    if not defined:
        return [unit.untested(size) for unit in units]
    plan = _Plan(alarms / size, sign_flip.draws_for(size, alarms), seed, test)
    p_values, visible = _p_values(defined, plan), _visible(defined, plan)
    corrected = CORRECTIONS[correction]([p_values[unit] for unit in defined], size)
    estimates = {
        unit: unit.tested(
            size,
            unit.pointwise,
            _test_of(unit, plan),
            p_values[unit],
            p,
            visible[unit],
            too_few=power.cannot_reject(unit.units, plan.level),
        )
        for unit, p in zip(defined, corrected, strict=True)
    }
    return [estimates[unit] if unit in estimates else unit.untested(size) for unit in units]


def _test_of(unit: PairedUnits, plan: _Plan) -> Test:
    if unit.pair.total is not None:
        return "swap"
    return "mcnemar" if unit.binary else plan.test


def _p_values(units: Sequence[PairedUnits], plan: _Plan) -> dict[PairedUnits, float]:
    p_values: dict[PairedUnits, float] = {}
    for unit in units:
        if unit.pair.total is not None:
            p_values[unit] = sign_flip.whole_set_p_value(
                unit.left, unit.right, unit.pair.total, plan.draws, plan.seed
            )
        elif unit.binary:
            p_values[unit] = mcnemar.p_value(unit.wins, unit.losses)
    for group in _by_length(unit for unit in units if unit not in p_values):
        found = _mean_p_values(np.stack([unit.gains for unit in group], axis=1), plan)
        p_values |= zip(group, found.tolist(), strict=True)
    return p_values


def _mean_p_values(table: Floats, plan: _Plan) -> Floats:
    if plan.test == "t":
        return classical.student(table)
    if plan.test == "wilcoxon":
        p_values = classical.wilcoxon(table, plan.draws, plan.seed)
        # Ranks that point the other way than the mean do not show what the mean says.
        against = np.sign(classical.signed_ranks(table).sum(axis=0)) != np.sign(table.sum(axis=0))
        return np.where(against, 1.0, p_values)
    return sign_flip.p_values(table, plan.draws, plan.seed)


def _visible(units: Sequence[PairedUnits], plan: _Plan) -> dict[PairedUnits, float | None]:
    """Return the smallest difference that is found with 80 % power at Holm's first step.

    With tied scores a shift of the differences says nothing of ranks: none for Wilcoxon's test.
    """
    visible: dict[PairedUnits, float | None] = dict.fromkeys(units)
    graded = []
    for unit in units:
        if unit.binary:
            visible[unit] = mcnemar.smallest_detectable(
                unit.n, unit.wins + unit.losses, mcnemar.wins_that_reject(unit.n, plan.level)
            )
        elif not power.cannot_reject(unit.units, plan.level) and (
            plan.test != "wilcoxon" or unit.pair.total is not None
        ):
            graded.append(unit)
    for group in _by_length(graded):
        table = np.stack([unit.values for unit in group], axis=1)
        critical = power.critical_value(len(table), plan.level)
        found = power.smallest_detectable(table, np.full(len(group), critical), plan.seed)
        visible |= zip(group, found, strict=True)
    return visible


def _by_length(units: Iterable[PairedUnits]) -> list[list[PairedUnits]]:
    """Return the pairs in groups of as many units."""
    groups: dict[int, list[PairedUnits]] = defaultdict(list)
    for unit in units:
        groups[unit.units].append(unit)
    return list(groups.values())
