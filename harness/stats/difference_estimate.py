"""The result of one comparison: difference, interval, p value, detectable difference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import Literal

from harness.stats.intervals import Method

MeanTest = Literal["sign-flip", "wilcoxon", "t"]
Test = Literal["mcnemar", "swap"] | MeanTest

IDENTICAL = "the scores are identical"
FAMILYWISE_ERROR_RATE = 0.05
"""The highest chance that a family of comparisons has any false positive."""
_Z, _Z_POWER = 1.959963984540054, 0.8416212335729143
"""The normal distribution's 97.5th and 80th percentile."""


@dataclass(frozen=True)
class DifferenceEstimate:
    """How much one side, the left, is above the other by one metric; from -1 to 1.

    `low` and `high` end the 95 % interval; `reason` says why there is none. By max-T it is the
    simultaneous one, which excludes 0 exactly where `corrected` is at most 0.05; `pointwise` is
    that of this difference alone. `corrected` is `p` corrected in a family of `family` tests, by
    max-T or by the rule that was asked for. `visible` is the smallest difference that would have
    been found with 80 % power; None where none would, where no question differs, or where nobody
    asked; `too_few`: none would, however great. `questions` is about how many would find the one
    seen so; None where it is 0. `error` is the standard error. `effect` is Cohen's d_z: the mean
    difference in standard deviations of the questions' differences; None where those are all equal.
    It, wins, ties and losses are None for a metric of the whole set. Where nothing could be
    compared all are None but the counts; `units` counts the clusters, or else the questions.
    """

    n: int
    unpaired: int
    family: int
    reason: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    method: Method = "none"
    pointwise: tuple[float, float] | None = None
    test: Test | None = None
    p: float | None = None
    corrected: float | None = None
    wins: int | None = None
    ties: int | None = None
    losses: int | None = None
    units: int = 0
    error: float | None = None
    visible: float | None = None
    too_few: bool = False
    questions: int | None = None
    effect: float | None = None

    @property
    def better(self) -> bool:
        """Whether the left side is shown to be the better one."""
        return self._significant and (self.difference or 0.0) > 0

    @property
    def worse(self) -> bool:
        """Whether the left side is shown to be the worse one."""
        return self._significant and (self.difference or 0.0) < 0

    @property
    def identical(self) -> bool:
        """Whether no question tells the two sides apart."""
        if self.wins is None:  # of a metric of the whole set
            return self.reason == IDENTICAL
        return self.difference == 0.0 and not (self.wins or self.losses)

    @property
    def _significant(self) -> bool:
        return self.corrected is not None and self.corrected <= FAMILYWISE_ERROR_RATE

    @property
    def reversed(self) -> DifferenceEstimate:
        """The same difference seen from the other side."""
        return replace(
            self,
            difference=_negate(self.difference),
            low=_negate(self.high),
            high=_negate(self.low),
            pointwise=None if self.pointwise is None else (-self.pointwise[1], -self.pointwise[0]),
            wins=self.losses,
            losses=self.wins,
            effect=_negate(self.effect),
        )

    def questions_to_exceed(self, bound: float) -> int | None:
        """Return about how many questions would tell on which side of `bound` the difference is.

        That many put the interval wholly on one side of it four times in five, if the difference
        seen is the true one. None where it is the bound, or nothing is known of the error.
        """
        if self.difference is None or self.error is None or self.difference == bound:
            return None
        ratio = (_Z + _Z_POWER) * self.error / (self.difference - bound)
        return round_up(self.n * ratio**2)


def round_up(number: float) -> int:
    """Return a positive number rounded up to two significant digits."""
    step = int(10 ** max(0, floor(log10(max(number, 1.0))) - 1))
    return max(1, ceil(round(number / step, 6))) * step


def _negate(value: float | None) -> float | None:
    return None if value is None else 0.0 - value
