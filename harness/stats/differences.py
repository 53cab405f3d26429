"""Paired differences of two sides by many metrics, tested as one family by max-T."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import isfinite, sqrt

import numpy as np
from numpy.typing import NDArray

from harness.stats import mcnemar, power
from harness.stats.difference_estimate import (
    FAMILYWISE_ERROR_RATE,
    DifferenceEstimate,
    Test,
)
from harness.stats.intervals import Interval
from harness.stats.max_t import MaxT, Swap, max_t
from harness.stats.paired_units import PairedScores, PairedUnits
from harness.stats.separate_tests import estimate_separately

Floats = NDArray[np.float64]

_UNDEFINED = "not defined in many swaps"
_ROUNDING, _NO_SPREAD = 1e-9, 1e-12


def estimate_differences(
    pairs: Sequence[PairedScores],
    seed: int = 0,
    others: Sequence[PairedScores] = (),
    powered: Collection[int] | None = None,
) -> list[DifferenceEstimate]:
    """Return the difference of each pair; all of them and of `others` are one family.

    Tested by single-step max-T, with simultaneous intervals; one alone by its plain test, with the
    pointwise interval. `powered` are the places of the pairs whose smallest visible difference is
    worked out, by default of all.
    """
    units = [PairedUnits(pair) for pair in (*pairs, *others)]
    defined = [unit for unit in units if unit.difference is not None]
    if len(defined) < 2:
        return estimate_separately(pairs, seed, family=len(defined))
    found, columns = _test(defined, seed), {unit: column for column, unit in enumerate(defined)}
    critical = {unit: float(found.critical[column]) for unit, column in columns.items()}
    too_few = {
        unit: power.cannot_reject(unit.units, FAMILYWISE_ERROR_RATE)
        or unit.units <= critical[unit] ** 2 * (1 + _ROUNDING)
        for unit in defined
    }
    wanted = range(len(pairs)) if powered is None else powered
    visible = power.visible_differences(
        [units[place] for place in wanted if not too_few.get(units[place], True)],
        lambda unit: mcnemar.wins_above(unit.n, critical[unit]),
        # Where hardly any question differs, c is that of so few: of all it is at least this.
        lambda unit: max(power.critical_value(unit.units, FAMILYWISE_ERROR_RATE), critical[unit]),
        seed,
    )
    estimates = []
    for unit in units[: len(pairs)]:
        if unit.difference is None:
            estimates.append(unit.untested(len(defined)))
            continue
        test: Test = "sign-flip" if unit.pair.total is None else "swap"
        column = columns[unit]
        corrected = float(found.corrected[column])
        if found.undefined[column]:
            interval = Interval(None, None, "none", _UNDEFINED)
            estimate = unit.tested(len(defined), interval, test, None, None, None, too_few=False)
        else:
            estimate = unit.tested(
                len(defined),
                _simultaneous_interval(unit, critical[unit], corrected, len(defined)),
                test,
                float(found.p[column]),
                corrected,
                visible.get(unit),
                too_few=too_few[unit],
            )
        estimates.append(estimate)
    return estimates


def _test(hypotheses: Sequence[PairedUnits], seed: int) -> MaxT:
    """Return what max-T says of hypotheses that are tested together."""
    rows = 1 + max(int(unit.numbers.max()) for unit in hypotheses)
    table = np.zeros((rows, len(hypotheses)))
    swaps = []
    for column, unit in enumerate(hypotheses):
        if unit.pair.total is None:
            table[unit.numbers, column] = unit.gains
        elif not unit.still:
            left, right = (np.zeros((rows, side.shape[1])) for side in (unit.left, unit.right))
            left[unit.numbers], right[unit.numbers] = unit.left, unit.right
            scale = unit.units / sqrt(float((unit.values**2).sum()))
            swaps.append(Swap(column, left, right, unit.pair.total, scale))
    return max_t(table, swaps, seed)


def _simultaneous_interval(
    unit: PairedUnits, critical: float, corrected: float, family: int
) -> Interval:
    """Return the simultaneous interval, which excludes 0 where a difference is shown."""
    if unit.missing_interval:
        return Interval(None, None, "none", unit.missing_interval)
    if unit.deviation is not None and unit.deviation <= _NO_SPREAD:
        return Interval(None, None, "none", "all differences are equal")
    ends = _simultaneous_ends(unit, critical)
    if ends is None:
        reason = f"{unit.unit} {unit.units} is too few for {family} tests"
        return Interval(None, None, "none", reason)
    low, high = max(-1.0, ends[0]), min(1.0, ends[1])
    if corrected > FAMILYWISE_ERROR_RATE:  # an end within rounding of 0 is 0
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high, "max-t")


def _simultaneous_ends(unit: PairedUnits, critical: float) -> tuple[float, float] | None:
    """Return the differences at which the statistic would just be critical; None if it never is.

    For clusters they are the roots of a quadratic; where all are of one size it comes to
    difference ± c · se · √((n - 1) / (n - c²)).
    """
    assert unit.difference is not None
    square, n = critical**2, unit.units
    if not isfinite(critical):
        return None
    if unit.pair.total is not None:
        if n <= square * (1 + _ROUNDING) or unit.error is None:
            return None
        half = critical * unit.error * sqrt((n - 1) / (n - square))
        return unit.difference - half, unit.difference + half
    sums, sizes, total = unit.gains, unit.sizes, float(unit.sizes.sum())
    a = total**2 - square * float((sizes**2).sum())
    b = total * float(sums.sum()) - square * float((sums * sizes).sum())
    c = float(sums.sum()) ** 2 - square * float((sums**2).sum())
    if a <= _ROUNDING * total**2:
        return None
    root = sqrt(max(0.0, b**2 - a * c))
    return (b - root) / a, (b + root) / a
