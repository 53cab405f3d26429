"""An estimated value with its confidence interval and sample size."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value with the ends of its 95 % interval; None where there is none, and why.

    `n` counts what it is over. `reason` says why there is no value, or else why no interval.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str = ""

    @property
    def positive(self) -> bool:
        """Whether it is shown to be above 0."""
        return self.low is not None and self.low > 0
