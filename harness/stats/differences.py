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
_ROUNDING = 1e-9


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
    family = _Family(defined, seed)
    wanted = range(len(pairs)) if powered is None else powered
    visible = family.visible([units[place] for place in wanted], seed)
    return [
        family.estimate(unit, visible.get(unit))
        if unit.difference is not None
        else unit.untested(family.size)
        for unit in units[: len(pairs)]
    ]


class _Family:
    """Hypotheses that are tested together; `found` is what max-T says of them."""

    def __init__(self, hypotheses: Sequence[PairedUnits], seed: int) -> None:
        self.size = len(hypotheses)
        self.columns = {unit: column for column, unit in enumerate(hypotheses)}
        rows = 1 + max(int(unit.numbers.max()) for unit in hypotheses)
        table = np.zeros((rows, self.size))
        swaps = []
        for unit, column in self.columns.items():
            if unit.pair.total is None:
                table[unit.numbers, column] = unit.gains
            elif not unit.still:
                swaps.append(_swap(unit, column, rows))
        self.found: MaxT = max_t(table, swaps, seed)

    def visible(self, units: Sequence[PairedUnits], seed: int) -> dict[PairedUnits, float | None]:
        """Return the smallest difference that would have been found with 80 % power."""
        return power.visible_differences(
            [unit for unit in units if unit.difference is not None and not self._too_few(unit)],
            lambda unit: mcnemar.wins_above(unit.n, self._critical(unit)),
            # Where hardly any question differs, c is that of so few: of all it is at least this.
            lambda unit: max(
                power.critical_value(unit.units, FAMILYWISE_ERROR_RATE), self._critical(unit)
            ),
            seed,
        )

    def estimate(self, unit: PairedUnits, visible: float | None) -> DifferenceEstimate:
        """Return the estimate of one hypothesis."""
        column, critical = self.columns[unit], self._critical(unit)
        test: Test = "sign-flip" if unit.pair.total is None else "swap"
        if self.found.undefined[column]:
            interval = Interval(None, None, "none", _UNDEFINED)
            return unit.tested(self.size, interval, test, None, None, None, too_few=False)
        corrected = float(self.found.corrected[column])
        return unit.tested(
            self.size,
            self._interval(unit, critical, corrected <= FAMILYWISE_ERROR_RATE),
            test,
            float(self.found.p[column]),
            corrected,
            visible,
            too_few=self._too_few(unit),
        )

    def _too_few(self, unit: PairedUnits) -> bool:
        """Return whether no difference, however great, could have been shown."""
        return power.cannot_reject(
            unit.units, FAMILYWISE_ERROR_RATE
        ) or unit.units <= self._critical(unit) ** 2 * (1 + _ROUNDING)

    def _critical(self, unit: PairedUnits) -> float:
        return float(self.found.critical[self.columns[unit]])

    def _interval(self, unit: PairedUnits, critical: float, shown: bool) -> Interval:
        """Return the simultaneous interval, which excludes 0 where a difference is shown."""
        if unit.missing_interval:
            return Interval(None, None, "none", unit.missing_interval)
        ends = _simultaneous_ends(unit, critical)
        if ends is None:
            reason = f"{unit.unit} {unit.units} is too few for {self.size} tests"
            return Interval(None, None, "none", reason)
        low, high = max(-1.0, ends[0]), min(1.0, ends[1])
        if not shown:  # an end within rounding of 0 is 0
            low, high = min(low, 0.0), max(high, 0.0)
        return Interval(low, high, "max-t")


def _swap(unit: PairedUnits, column: int, rows: int) -> Swap:
    assert unit.pair.total is not None
    sides = []
    for side in (unit.left, unit.right):
        counts = np.zeros((rows, side.shape[1]))
        counts[unit.numbers] = side
        sides.append(counts)
    scale = unit.units / sqrt(float((unit.values**2).sum()))
    return Swap(column, sides[0], sides[1], unit.pair.total, scale)


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
