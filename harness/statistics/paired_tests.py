"""What is tested of a paired difference: p, its interval and its power, by kind of metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.statistics import classical, mcnemar, power, signflip
from harness.statistics.aggregate import Total
from harness.statistics.intervals import FEWEST, Whole, bca, interval_of_whole, resampled_sums

Floats = NDArray[np.float64]
Method = Literal["bca", "bonett-price", "none"]
Chosen = Literal["sign-flip", "wilcoxon", "t"]
Test = Literal["mcnemar", "swap"] | Chosen

IDENTICAL = "the scores are identical"


@dataclass(frozen=True)
class Plan:
    """What all tests of one family share: the level of Holm's first step, the draws, the seed.

    `test` is that of means that are not of 0 and 1 alone.
    """

    level: float
    draws: int
    seed: int
    test: Chosen = "sign-flip"


@dataclass(frozen=True)
class Tested:
    """What a test found: p, the 95 % interval or why there is none, and what would show.

    `error` is the standard error, None under two units; `visible` the smallest difference that is
    found with 80 % power, None where none is.
    """

    test: Test
    p: float
    low: float | None
    high: float | None
    method: Method
    reason: str
    error: float | None
    visible: float | None


def of_shares(wins: int, losses: int, n: int, plan: Plan) -> Tested:
    """Return what McNemar's test finds of two shares, where `wins` and `losses` of n differ."""
    reason = _none(n, "n =", wins + losses == 0)
    low, high = (None, None) if reason else mcnemar.bonett_price(wins, losses, n)
    squares = wins + losses - (wins - losses) ** 2 / n
    return Tested(
        "mcnemar",
        mcnemar.p_value(wins, losses),
        low,
        high,
        "none" if reason else "bonett-price",
        reason,
        float(np.sqrt(squares / (n - 1) / n)) if n > 1 else None,
        mcnemar.smallest(n, wins + losses, plan.level),
    )


def of_means(table: Floats, sizes: Floats, plan: Plan, unit: str = "n =") -> list[Tested]:
    """Return what the plan's test finds of the columns of `table` [units, tests].

    Each unit's differences are summed over its `sizes` [units, tests] questions: 1, or as many as
    a cluster has, and then `unit` says so. All tests share their flips and their resamples. What
    would show is worked out for the sign-flip test, and good for the t test; for Wilcoxon's it is
    None: with tied scores a shift of the differences says nothing of ranks.
    """
    units, tests = table.shape
    p_values = _p_values(table, plan)
    values = table * (units / sizes.sum(axis=0))
    visible: Sequence[float | None] = [None] * tests
    if plan.test != "wilcoxon":
        visible = power.smallest(values, plan.level, plan.seed)
    reasons = [_none(units, unit, not table[:, at].any()) for at in range(tests)]
    equal = np.ptp(table / np.maximum(sizes, 1), axis=0) == 0
    reasons = [
        reason or ("all differences are equal" if same else "")
        for reason, same in zip(reasons, equal, strict=True)
    ]
    wanted = [at for at in range(tests) if not reasons[at]]
    ends = dict(zip(wanted, _ends(table[:, wanted], sizes[:, wanted], plan.seed), strict=True))
    errors = values.std(axis=0, ddof=1) / np.sqrt(units) if units > 1 else None
    return [
        Tested(
            plan.test,
            float(p_values[at]),
            *ends.get(at, (None, None)),
            "none" if reasons[at] else "bca",
            reasons[at],
            None if errors is None else float(errors[at]),
            visible[at],
        )
        for at in range(tests)
    ]


def _p_values(table: Floats, plan: Plan) -> Floats:
    if plan.test == "t":
        return classical.student(table)
    if plan.test == "wilcoxon":
        found = classical.wilcoxon(table, plan.draws, plan.seed)
        # Ranks that point the other way than the mean do not show what the mean says.
        against = np.sign(classical.signed_ranks(table).sum(axis=0)) != np.sign(table.sum(axis=0))
        return np.where(against, 1.0, found)
    return signflip.p_values(table, plan.draws, plan.seed)


def of_whole(left: Floats, right: Floats, total: Total, plan: Plan, unit: str = "n =") -> Tested:
    """Return what swapping the sides' counts [units, counts] finds of a number of the whole set.

    Its standard error and its power are those of the mean of its jackknife pseudo-values.
    """
    units, width = left.shape

    def differ(counts: Sequence[float]) -> float | None:
        return signflip.differ(np.array(counts[:width]), np.array(counts[width:]), total)

    def differences(rows: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        return signflip.differences(rows[:, :width], rows[:, width:], total)

    table = np.concatenate([left, right], axis=1)
    sums = table.sum(axis=0)
    observed = differ(sums.tolist())
    assert observed is not None
    rest, known = differences(sums - table)
    pseudo = units * observed - (units - 1) * np.where(known, rest, observed)
    reason, low, high = _none(units, unit, bool((left == right).all())), None, None
    if not reason:
        ends = interval_of_whole(table.tolist(), Whole(differ, differences), plan.seed)
        reason, low, high = ends.reason, ends.low, ends.high
    return Tested(
        "swap",
        signflip.p_of_whole(left, right, total, plan.draws, plan.seed),
        low,
        high,
        "none" if reason else "bca",
        reason,
        float(pseudo.std(ddof=1) / np.sqrt(units)) if units > 1 else None,
        power.smallest(pseudo[:, None], plan.level, plan.seed)[0],
    )


def _none(units: int, unit: str, identical: bool) -> str:
    """Return why there is no interval, "" where there is one."""
    if identical:
        return IDENTICAL
    return f"{unit} {units} is under {FEWEST}" if units < FEWEST else ""


def _ends(table: Floats, sizes: Floats, seed: int) -> list[tuple[float | None, float | None]]:
    """Return the BCa interval of each column's sum over that of its sizes."""
    if not table.shape[1]:
        return []
    sums, counts = table.sum(axis=0), sizes.sum(axis=0)
    drawn = resampled_sums(table, seed)
    whole = bool((sizes == 1).all())
    drawn /= counts if whole else resampled_sums(sizes, seed)
    left_out = (sums - table) / (counts - sizes)
    influence = left_out.mean(axis=0) - left_out
    means = sums / counts
    found = [bca(float(means[at]), drawn[:, at], influence[:, at]) for at in range(len(means))]
    return [(each.low, each.high) for each in found]
