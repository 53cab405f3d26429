"""One metric of two sides, summed by what is flipped as one: questions, or their clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from harness.stats import mcnemar
from harness.stats.aggregate_scores import Defined, Total, pseudo_values, total_rows
from harness.stats.difference_estimate import (
    IDENTICAL,
    DifferenceEstimate,
    Test,
    round_up,
)
from harness.stats.intervals import (
    MIN_SAMPLE_SIZE,
    Interval,
    cluster_deviation,
    student,
    too_few,
)

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

_ROUNDING = 1e-12
_CANCELLED = "the differences cancel out"


@dataclass(frozen=True, eq=False)
class PairedScores:
    """One metric of two sides on the questions that both finished.

    `left` and `right` hold a value for each question, shape [n]; for a metric of the whole set
    counts, shape [n, counts], of which `total` makes its value. `questions` numbers them within
    their family, by default in their order; `clusters` numbers each question's cluster, where whole
    ones are to be flipped. `unpaired` questions were scored on one side alone.
    """

    left: Floats
    right: Floats
    total: Total | None = None
    clusters: Numbers | None = None
    unpaired: int = 0
    questions: Numbers | None = None


class PairedUnits:
    """A pair summed up by unit. `numbers` are those of the units within their family."""

    def __init__(self, pair: PairedScores) -> None:
        self.pair = pair
        self.n = len(pair.left)
        self.left, self.right, self.sizes = pair.left, pair.right, np.ones(self.n)
        gains = pair.left - pair.right
        gains[np.abs(gains) < _ROUNDING] = 0.0
        self.question_gains = self.gains = gains
        if pair.clusters is not None:
            self.numbers, places = np.unique(pair.clusters, return_inverse=True)
            self.left, self.right, self.gains, self.sizes = (
                _sum_by_place(values, places, len(self.numbers))
                for values in (self.left, self.right, gains, self.sizes)
            )
        else:
            self.numbers = np.arange(self.n) if pair.questions is None else pair.questions
        self.difference: float | None = None
        if pair.total is None:
            self.difference = float(gains.sum() / self.n) if self.n else None
        elif self.n:
            sums = self.left.sum(axis=0), self.right.sum(axis=0)
            left, right = (pair.total(side.tolist()) for side in sums)
            self.difference = None if left is None or right is None else left - right

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.numbers)

    @property
    def unit(self) -> str:
        """What stands before the number of units where that is a reason."""
        return "n =" if self.pair.clusters is None else "clusters:"

    @cached_property
    def wins(self) -> int:
        """How many questions the left side does better on."""
        return int((self.question_gains > 0).sum())

    @cached_property
    def losses(self) -> int:
        """How many questions the left side does worse on."""
        return int((self.question_gains < 0).sum())

    @cached_property
    def binary(self) -> bool:
        """Whether all values are 0 or 1 and questions are what is flipped."""
        sides = np.concatenate([self.pair.left, self.pair.right])
        return (
            self.pair.clusters is None
            and self.pair.total is None
            and bool(((sides == 0.0) | (sides == 1.0)).all())
        )

    @cached_property
    def still(self) -> bool:
        """Whether no unit tells the two sides apart."""
        if self.pair.total is None:
            return not self.gains.any()
        return bool((self.left == self.right).all()) or not self.values.any()

    @cached_property
    def values(self) -> Floats:
        """What each unit adds to the difference, which is their mean."""
        if self.pair.total is None:
            values: Floats = self.gains * (self.units / self.sizes.sum())
            return values
        assert self.difference is not None
        table = np.concatenate([self.left, self.right], axis=1)
        pseudo = pseudo_values(self.difference, *self._differences(table.sum(axis=0) - table))
        shifted: Floats = pseudo - pseudo.mean() + self.difference
        return shifted

    @cached_property
    def deviation(self) -> float | None:
        """√units times the standard error; None under two units."""
        if self.units < 2:
            return None
        if self.pair.total is None:
            return cluster_deviation(self.gains, self.sizes)
        return float(self.values.std(ddof=1))

    @property
    def error(self) -> float | None:
        """The standard error of the difference; None under two units."""
        return None if self.deviation is None else self.deviation / sqrt(self.units)

    @cached_property
    def effect(self) -> float | None:
        """Cohen's d_z: the mean in standard deviations; None where there is no deviation."""
        gains = self.question_gains
        if self.pair.total is not None or len(gains) < 2:
            return None
        deviation = float(gains.std(ddof=1))
        return float(gains.mean()) / deviation if deviation > _ROUNDING else None

    @property
    def missing_interval(self) -> str:
        """Why there is no interval; "" where there can be one."""
        if self.still:
            return _CANCELLED if self.question_gains.any() else IDENTICAL
        return too_few(self.units, self.unit).reason if self.units < MIN_SAMPLE_SIZE else ""

    @cached_property
    def pointwise(self) -> Interval:
        """The 95 % interval of this difference alone: Bonett-Price, or that of a mean."""
        if self.missing_interval:
            return Interval(None, None, "none", self.missing_interval)
        if self.binary:
            return Interval(*mcnemar.bonett_price(self.wins, self.losses, self.n), "bonett-price")
        assert self.difference is not None
        assert self.deviation is not None
        ends = student((self.difference + 1) / 2, self.deviation / 2, self.units)
        if ends.low is None or ends.high is None:
            return Interval(None, None, "none", "not from -1 to 1")
        return Interval(2 * ends.low - 1, 2 * ends.high - 1, "t")

    def untested(self, family: int) -> DifferenceEstimate:
        """Return what is said where the difference is not defined."""
        reason = "the denominator is 0" if self.n else "no question was scored on both sides"
        return DifferenceEstimate(self.n, self.pair.unpaired, family, reason)

    def tested(
        self,
        family: int,
        interval: Interval,
        test: Test,
        p: float | None,
        corrected: float | None,
        visible: float | None,
        too_few: bool,
    ) -> DifferenceEstimate:
        """Return the estimate that a test gives."""
        counted = self.pair.total is None
        alone = self.pointwise
        questions = None
        if self.difference and visible is not None:
            questions = round_up(self.n * (visible / self.difference) ** 2)
        return DifferenceEstimate(
            self.n,
            self.pair.unpaired,
            family,
            interval.reason,
            difference=self.difference,
            low=interval.low,
            high=interval.high,
            method=interval.method,
            pointwise=None if alone.low is None or alone.high is None else (alone.low, alone.high),
            test=test,
            p=p,
            corrected=corrected,
            wins=self.wins if counted else None,
            ties=self.n - self.wins - self.losses if counted else None,
            losses=self.losses if counted else None,
            units=self.units,
            error=self.error,
            visible=visible,
            too_few=too_few,
            questions=questions,
            effect=self.effect,
        )

    def _differences(self, table: Floats) -> tuple[Floats, Defined]:
        """Return the difference that each row of both sides' summed counts comes to."""
        assert self.pair.total is not None
        width = self.left.shape[1]
        return total_differences(self.pair.total, table[:, :width], table[:, width:])


def total_differences(total: Total, left: Floats, right: Floats) -> tuple[Floats, Defined]:
    """Return the difference of each row's two totals, and which of them are defined."""
    (left_values, left_defined), (right_values, right_defined) = (
        total_rows(total, left),
        total_rows(total, right),
    )
    return left_values - right_values, left_defined & right_defined


def _sum_by_place(values: Floats, places: Numbers, count: int) -> Floats:
    sums = np.zeros((count, *values.shape[1:]))
    np.add.at(sums, places, values)
    return sums
