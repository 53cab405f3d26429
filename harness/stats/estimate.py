"""An estimated value with its interval: BCa for figures of many ratings (METRICS.md, section 6).

Means and differences have closed formulas; agreement and rank correlation have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from harness.stats.aggregate_scores import Defined
from harness.stats.intervals import (
    MIN_SAMPLE_SIZE,
    Interval,
    explain_few_groups,
    number_clusters,
    too_few,
)

Floats = NDArray[np.float64]
Figures = Callable[[Floats], tuple[Floats, Defined]]
"""Makes figures, shape [figures, draws], of weights [draws, n]; says where they are defined."""

SAME_IN_EVERY_RESAMPLE = "the same in every resample"
_DRAWS_PER_BLOCK = 500
_MIN_DEFINED_SHARE = 0.95
_TAILS = (0.025, 0.975)
_ROUNDING = 1e-12
_NO_SPREAD = 1e-9


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


def estimate_figures(
    figures: Figures,
    n: int,
    groups: Sequence[str] | None,
    draws: int,
    seed: int,
    undefined_reasons: Sequence[str],
) -> list[Estimate]:
    """Return each figure of n rows with its interval; whole groups of rows are drawn.

    `undefined_reasons` says of each figure why it has no value. Draws in which one is not defined
    are left out; it has no interval where over 1 in 20 are.
    """
    member = number_clusters(range(n) if groups is None else groups)
    size = len(np.unique(member))
    observed, defined = figures(np.ones((1, n)))
    estimates = [Estimate(None, None, None, n, reason) for reason in undefined_reasons]
    known = np.flatnonzero(defined[:, 0]).tolist()
    if size < MIN_SAMPLE_SIZE:
        # Else `n = 5 is under 6` would stand beside n = 7.
        reason = explain_few_groups(size) if size < min(n, MIN_SAMPLE_SIZE) else too_few(n).reason
        for index in known:
            estimates[index] = Estimate(float(observed[index, 0]), None, None, n, reason)
        return estimates
    drawn, drawn_defined = _compute(figures, member, _draw_blocks(size, seed, draws))
    left_out, left_out_defined = _compute(figures, member, _leave_out_blocks(size))
    for index in known:
        value = float(observed[index, 0])
        ends = _bootstrap_interval(
            value,
            drawn[index, drawn_defined[index]],
            left_out[index, left_out_defined[index]],
            draws,
        )
        estimates[index] = Estimate(value, ends.low, ends.high, n, ends.reason)
    return estimates


def resampled_sums(table: Floats, seed: int, draws: int) -> Floats:
    """Return the column sums of each bootstrap draw of the rows, shape [draws, columns]."""
    return np.concatenate([block @ table for block in _draw_blocks(len(table), seed, draws)])


def _compute(
    figures: Figures, member: NDArray[np.int64], blocks: Iterable[Floats]
) -> tuple[Floats, Defined]:
    """Return the figures of blocks of weights of groups, shape [draws, groups]."""
    values, defined = zip(*(figures(block[:, member]) for block in blocks), strict=True)
    return np.concatenate(values, axis=1), np.concatenate(defined, axis=1)


def _bootstrap_interval(value: float, drawn: Floats, left_out: Floats, draws: int) -> Interval:
    if len(drawn) < _MIN_DEFINED_SHARE * draws or not len(left_out):
        return Interval(None, None, "none", "not defined in many resamples")
    if drawn.max() - drawn.min() <= _NO_SPREAD:
        return Interval(None, None, "none", SAME_IN_EVERY_RESAMPLE)
    return _bca(value, drawn, left_out.mean() - left_out)


def _bca(observed: float, drawn: Floats, influence: Floats) -> Interval:
    """Return the bias-corrected and accelerated interval.

    `drawn` holds the number in each resample, `influence` how much each group moves it.
    Source: Efron, "Better Bootstrap Confidence Intervals", 1987.
    """
    normal = NormalDist()
    # Sums taken in another order differ in the last bits, and would hide that they are equal.
    equal = np.abs(drawn - observed) <= _ROUNDING * abs(observed)
    below = float(((drawn < observed) & ~equal).sum() + 0.5 * equal.sum()) / len(drawn)
    bias = normal.inv_cdf(min(max(below, 1 / (2 * len(drawn))), 1 - 1 / (2 * len(drawn))))
    # The scale cancels out: without it, the powers of tiny influences would all be 0.
    pull = influence / (np.abs(influence).max() or 1.0)
    spread = float((pull**2).sum()) ** 1.5
    acceleration = float((pull**3).sum()) / (6 * spread) if spread else 0.0
    low, high = (
        float(np.quantile(drawn, normal.cdf(bias + z / (1 - acceleration * z))))
        for z in (bias + normal.inv_cdf(tail) for tail in _TAILS)
    )
    return Interval(low, high, "bca")


def _draw_blocks(n: int, seed: int, draws: int) -> Iterator[Floats]:
    """Yield, a block at a time, how often each of `n` values is drawn in each of the draws."""
    generator = np.random.default_rng([seed, n])
    starts = np.arange(_DRAWS_PER_BLOCK)[:, None] * n
    for start in range(0, draws, _DRAWS_PER_BLOCK):
        drawn = generator.integers(0, n, size=(_DRAWS_PER_BLOCK, n)) + starts
        counts = np.bincount(drawn.ravel(), minlength=_DRAWS_PER_BLOCK * n)
        block = counts.reshape(_DRAWS_PER_BLOCK, n)[: draws - start]
        yield block.astype(np.float64)


def _leave_out_blocks(n: int) -> Iterator[Floats]:
    """Yield, a block at a time, weights that leave out each of `n` values in turn."""
    for rows in np.array_split(np.arange(n), -(-n // _DRAWS_PER_BLOCK)):
        yield (rows[:, None] != np.arange(n)).astype(np.float64)
