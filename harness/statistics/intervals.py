"""How sure a mean is: its interval, by METRICS.md section 4."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.unsignedinteger]
Method = Literal["bca", "wilson", "exact", "none"]

Known = NDArray[np.bool_]

LEVEL = 0.95
DRAWS = 10_000
FEWEST = 6
_Z = 1.959963984540054
"""The 97.5th percentile of the normal distribution."""
_ROUNDING = 1e-12
_BLOCK = 500
_WIDENED = 250
"""Draws for at most this many values are kept as they are multiplied: 20 MB."""
_KEPT = 1_000
"""Draws for at most this many values are kept, for eight sizes: at most 20 MB each."""


@dataclass(frozen=True)
class Interval:
    """A 95 % interval of a mean; `low` and `high` are None where there is none, and why."""

    low: float | None
    high: float | None
    method: Method
    reason: str = ""


@dataclass(frozen=True)
class Whole:
    """What makes the value of a metric of the whole set of summed counts.

    `many`, where a metric has it, does so of a table [rows, counts] in one go: the values, and
    which of them are defined; what stands in the place of one that is not is 0.
    """

    one: Callable[[Sequence[float]], float | None]
    many: Callable[[Floats], tuple[Floats, Known]] | None = None

    def __call__(self, counts: Sequence[float]) -> float | None:
        """Return the value of summed counts; None where it is not defined."""
        return self.one(counts)


def values_of(
    total: Callable[[Sequence[float]], float | None], table: Floats
) -> tuple[Floats, Known]:
    """Return what each row of summed counts comes to, and which rows come to something."""
    if isinstance(total, Whole) and total.many is not None:
        return total.many(table)
    found = [total(row) for row in table.tolist()]
    known = np.array([value is not None for value in found], dtype=np.bool_)
    return np.array([value or 0.0 for value in found], dtype=np.float64), known


def interval(values: Sequence[float], seed: int = 0) -> Interval:
    """Return the 95 % interval of the mean of `values`, each in [0, 1].

    Wilson where all are 0 or 1, or at least 90 % are one value; the exact bound where all are 1
    (or all 0); BCa bootstrap otherwise. None under six values, or where all equal another value.
    Sources: Wilson, 1927; Efron, "Better Bootstrap Confidence Intervals", 1987.
    """
    scores = np.asarray(values, dtype=np.float64)
    n = len(scores)
    if not n:
        return _NOTHING
    if n < FEWEST:
        return too_few(n)
    unique, counts = np.unique(scores, return_counts=True)
    if len(unique) == 1:
        return _constant(float(unique[0]), n)
    if bool(np.isin(unique, (0.0, 1.0)).all()) or counts.max() >= 0.9 * n:
        return wilson(float(scores.mean()), n)
    means = resampled_sums(scores[:, None], seed)[:, 0] / n
    return bca(float(scores.mean()), means, scores - scores.mean())


def interval_of_whole(
    counts: Sequence[Sequence[float]],
    total: Callable[[Sequence[float]], float | None],
    seed: int = 0,
) -> Interval:
    """Return the 95 % interval of a number that is computed from summed counts of n questions.

    The questions are resampled and the number recomputed (BCa; the acceleration by leaving each
    question out). Draws in which it is not defined are left out; None where over 1 in 20 are.
    """
    table = np.asarray(counts, dtype=np.float64)
    n = len(table)
    if not n:
        return _NOTHING
    observed = total(table.sum(axis=0).tolist())
    if observed is None:
        return Interval(None, None, "none", "the denominator is 0")
    if n < FEWEST:
        return too_few(n)
    drawn, known = values_of(total, resampled_sums(table, seed))
    left_out, there = values_of(total, table.sum(axis=0) - table)
    drawn, jackknife = drawn[known], left_out[there]
    if len(drawn) < 0.95 * len(known) or not len(jackknife):
        return Interval(None, None, "none", "not defined in many resamples")
    if drawn.min() == drawn.max():
        return Interval(None, None, "none", "the same in every resample")
    return bca(observed, drawn, jackknife.mean() - jackknife)


_NOTHING = Interval(None, None, "none", "nothing was scored")


def too_few(n: int) -> Interval:
    """Return what stands in an interval's place where there are too few values."""
    return Interval(None, None, "none", f"n = {n} is under {FEWEST}")


def few_groups(size: int) -> str:
    """Return why there is no interval of rows that hang together in too few groups."""
    return f"independent questions: {size}, under {FEWEST}"


def _constant(value: float, n: int) -> Interval:
    bound = float(((1 - LEVEL) / 2) ** (1 / n))
    if value == 1.0:
        return Interval(bound, 1.0, "exact")
    if value == 0.0:
        return Interval(0.0, 1.0 - bound, "exact")
    return Interval(None, None, "none", "all scores are equal")


def wilson(mean: float, n: int) -> Interval:
    """Return the Wilson interval of a share of `n`; n is at least 1."""
    centre = mean + _Z**2 / (2 * n)
    half = _Z * float(np.sqrt(mean * (1 - mean) / n + _Z**2 / (4 * n**2)))
    scale = 1 + _Z**2 / n
    low, high = (centre - half) / scale, (centre + half) / scale
    return Interval(max(0.0, low), min(1.0, high), "wilson")


def bca(observed: float, drawn: Floats, influence: Floats) -> Interval:
    """Return the bias-corrected and accelerated interval.

    `drawn` holds the number in each resample, `influence` how much each question moves it.
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
    for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(float(np.quantile(drawn, normal.cdf(bias + z / (1 - acceleration * z)))))
    return Interval(ends[0], ends[1], "bca")


def resampled_sums(table: Floats, seed: int, draws: int = DRAWS) -> Floats:
    """Return the column sums of each bootstrap draw of the rows, shape [draws, columns].

    All metrics with the same n share the same draws.
    """
    return np.concatenate([block @ table for block in _blocks(len(table), seed, draws)])


def resampled_counts(n: int, seed: int, draws: int = DRAWS) -> Floats:
    """Return how often each of n rows is in each bootstrap draw, shape [draws, n]."""
    return np.concatenate(list(_blocks(n, seed, draws)))


def _blocks(n: int, seed: int, draws: int) -> Iterator[Floats]:
    blocks = _kept_draws(n, seed) if n <= _KEPT else _last_draws(n, seed)
    for block in islice(blocks, -(-draws // _BLOCK)):
        yield block.astype(np.float64, copy=False)


@lru_cache(maxsize=8)
def _kept_draws(n: int, seed: int) -> tuple[Counts | Floats, ...]:
    if n > _WIDENED:
        return tuple(_draws(n, seed))
    return tuple(block.astype(np.float64) for block in _draws(n, seed))


@lru_cache(maxsize=1)
def _last_draws(n: int, seed: int) -> tuple[Counts | Floats, ...]:
    return tuple(_draws(n, seed))


def _draws(n: int, seed: int) -> Iterator[Counts]:
    """Yield, a block at a time, how often each of `n` values is drawn in each of the draws."""
    generator = np.random.default_rng([seed, n])
    starts = np.arange(_BLOCK)[:, None] * n
    for _ in range(0, DRAWS, _BLOCK):
        drawn = generator.integers(0, n, size=(_BLOCK, n))
        drawn += starts
        counts = np.bincount(drawn.ravel(), minlength=_BLOCK * n)
        yield counts.reshape(_BLOCK, n).astype(np.min_scalar_type(counts.max()))
