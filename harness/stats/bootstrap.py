"""BCa bootstrap intervals of agreement and rank correlation (METRICS.md, section 6).

Means and differences have closed formulas; these figures of many ratings have none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from harness.stats.intervals import MIN_SAMPLE_SIZE
from harness.stats.whole_sets import Total, total_rows

Floats = NDArray[np.float64]

_DRAWS = 10_000
_DRAWS_PER_BLOCK = 500
_TAILS = (0.025, 0.975)
_ROUNDING = 1e-12


@dataclass(frozen=True)
class BootstrapInterval:
    """A 95 % interval; `low` and `high` are None where there is none, and why."""

    low: float | None
    high: float | None
    reason: str = ""


def bootstrap_interval(table: Floats, total: Total, seed: int) -> BootstrapInterval:
    """Return the 95 % interval of what the column sums of a table come to; rows are drawn.

    `total` must be defined for all rows together. Draws in which it is not are left out; none
    where over 1 in 20 are.
    """
    n = len(table)
    observed = total(table.sum(axis=0).tolist())
    assert observed is not None
    if n < MIN_SAMPLE_SIZE:
        return BootstrapInterval(None, None, f"n = {n} is under {MIN_SAMPLE_SIZE}")
    drawn, defined = total_rows(total, resampled_sums(table, seed))
    left_out, jackknife_defined = total_rows(total, table.sum(axis=0) - table)
    drawn, jackknife = drawn[defined], left_out[jackknife_defined]
    if len(drawn) < 0.95 * len(defined) or not len(jackknife):
        return BootstrapInterval(None, None, "not defined in many resamples")
    if drawn.min() == drawn.max():
        return BootstrapInterval(None, None, "the same in every resample")
    return bca(observed, drawn, jackknife.mean() - jackknife)


def bca(observed: float, drawn: Floats, influence: Floats) -> BootstrapInterval:
    """Return the bias-corrected and accelerated interval.

    `drawn` holds the number in each resample, `influence` how much each question moves it.
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
    ends = []
    for tail in _TAILS:
        z = bias + normal.inv_cdf(tail)
        ends.append(float(np.quantile(drawn, normal.cdf(bias + z / (1 - acceleration * z)))))
    return BootstrapInterval(ends[0], ends[1])


def resampled_sums(table: Floats, seed: int, draws: int = _DRAWS) -> Floats:
    """Return the column sums of each bootstrap draw of the rows, shape [draws, columns]."""
    return np.concatenate([block @ table for block in _draw_blocks(len(table), seed, draws)])


def resampled_counts(n: int, seed: int, draws: int = _DRAWS) -> Floats:
    """Return how often each of n rows is in each bootstrap draw, shape [draws, n]."""
    return np.concatenate(list(_draw_blocks(n, seed, draws)))


def _draw_blocks(n: int, seed: int, draws: int) -> Iterator[Floats]:
    """Yield, a block at a time, how often each of `n` values is drawn in each of the draws."""
    generator = np.random.default_rng([seed, n])
    starts = np.arange(_DRAWS_PER_BLOCK)[:, None] * n
    for start in range(0, draws, _DRAWS_PER_BLOCK):
        drawn = generator.integers(0, n, size=(_DRAWS_PER_BLOCK, n)) + starts
        counts = np.bincount(drawn.ravel(), minlength=_DRAWS_PER_BLOCK * n)
        block = counts.reshape(_DRAWS_PER_BLOCK, n)[: draws - start]
        yield block.astype(np.float64)
