"""Spearman's rank correlation with an interval, of rows that hang together in groups.

Source: Spearman, 1904; ties get the mean of their ranks. The interval draws whole groups, and
ranks anew in each draw: BCa, as all intervals are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.statistics.estimate import Estimate
from harness.statistics.intervals import FEWEST, Known, bca, resampled_sums

Floats = NDArray[np.float64]
Values = Callable[[Floats], tuple[Floats, Known]]
"""Makes the figure of each row of weights, shape [draws, n], and says where it is defined."""

ALWAYS = "the same in every resample"
_DRAWS = 2_000
_AT_ONCE = 500_000
"""Weights that are looked at together: a few MB."""
_ROUNDING = 1e-9


def spearman(
    one: Sequence[float],
    other: Sequence[float],
    groups: Sequence[str] | None = None,
    seed: int = 0,
    names: tuple[str, str] = ("the one", "the other"),
) -> Estimate:
    """Return Spearman's rho of two columns, from -1 to 1.

    Args:
        one: A value a row.
        other: Another value a row.
        groups: The group of each row; whole groups are drawn. None: each row alone.
        seed: Of the draws.
        names: What the columns are called, where one does not vary.
    """
    first, second = _codes(one), _codes(other)
    for codes, name in ((first, names[0]), (second, names[1])):
        if len(one) and codes.max() == 0:
            return Estimate(None, None, None, len(one), f"{name} does not vary")
    return _estimate(lambda weights: _rho(first, second, weights), len(one), groups, seed)


def gain(
    new: Sequence[float],
    old: Sequence[float],
    people: Sequence[float],
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> Estimate:
    """Return how much higher the rho of `new` with `people` is than that of `old`, paired."""
    first, second, wanted = _codes(new), _codes(old), _codes(people)

    def differences(weights: Floats) -> tuple[Floats, Known]:
        one, known = _rho(first, wanted, weights)
        other, there = _rho(second, wanted, weights)
        return one - other, known & there

    return _estimate(differences, len(people), groups, seed)


def _estimate(values: Values, n: int, groups: Sequence[str] | None, seed: int) -> Estimate:
    names = list(groups) if groups is not None else [str(at) for at in range(n)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    member = np.array([numbers[name] for name in names], dtype=np.int64)
    if n < FEWEST:
        return Estimate(None, None, None, n, f"n = {n} is under {FEWEST}")
    found, known = values(np.ones((1, n)))
    if not known[0]:
        return Estimate(None, None, None, n, "one of the two does not vary")
    value = float(found[0])
    size = len(numbers)
    if size < FEWEST:
        return Estimate(value, None, None, n, f"questions: {size}, under {FEWEST}")
    drawn, sound = _in_blocks(values, resampled_sums(np.eye(size), seed, _DRAWS), member)
    left_out, there = _in_blocks(values, 1.0 - np.eye(size), member)
    drawn, jackknife = drawn[sound], left_out[there]
    if len(drawn) < 0.95 * len(sound) or not len(jackknife):
        return Estimate(value, None, None, n, "not defined in many resamples")
    if drawn.max() - drawn.min() <= _ROUNDING:
        return Estimate(value, None, None, n, ALWAYS)
    ends = bca(value, drawn, jackknife.mean() - jackknife)
    return Estimate(value, ends.low, ends.high, n)


def _in_blocks(values: Values, weights: Floats, member: NDArray[np.int64]) -> tuple[Floats, Known]:
    """Return the figures of weights of groups, shape [draws, groups], some draws at a time."""
    step = max(1, _AT_ONCE // len(member))
    found = [values(weights[at : at + step][:, member]) for at in range(0, len(weights), step)]
    return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found])


def _codes(values: Sequence[float]) -> NDArray[np.int64]:
    """Return the number of each value among the distinct ones, the lowest first."""
    return np.unique(np.round(np.asarray(values, dtype=np.float64), 9), return_inverse=True)[1]


def _rho(one: NDArray[np.int64], other: NDArray[np.int64], weights: Floats) -> tuple[Floats, Known]:
    total = weights.sum(axis=1)
    first, second = (_ranks(codes, weights, total) for codes in (one, other))
    both, left, right = (
        (weights * a * b).sum(axis=1)
        for a, b in ((first, second), (first, first), (second, second))
    )
    spread = np.sqrt(left * right)
    known = spread > _ROUNDING
    found = np.zeros(len(weights))
    found[known] = np.clip(both[known] / spread[known], -1.0, 1.0)
    return found, known


def _ranks(codes: NDArray[np.int64], weights: Floats, total: Floats) -> Floats:
    """Return the rank of each row among rows that are there `weights` times, less the mean."""
    last = np.cumsum(np.bincount(codes)) - 1
    ends = np.cumsum(weights[:, np.argsort(codes, kind="stable")], axis=1)[:, last]
    middles = (ends + np.pad(ends, ((0, 0), (1, 0)))[:, :-1]) / 2
    centred: Floats = middles[:, codes] - total[:, None] / 2
    return centred
