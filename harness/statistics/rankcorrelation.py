"""Spearman's rank correlation with an interval, of rows that hang together in groups.

Source: Spearman, 1904; ties get the mean of their ranks. The interval draws whole groups, and
ranks anew in each draw: BCa, as all intervals are. Several columns share what is dear: the draws,
and the ranks of the column that they are held against.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.statistics.estimate import Estimate
from harness.statistics.intervals import FEWEST, Interval, Known, bca, few_groups, resampled_counts

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Values = Callable[[Floats], tuple[Floats, Known]]
"""Makes figures, shape [figures, draws], of weights [draws, n]; says where they are defined."""

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
    """Return Spearman's rho of two columns, from -1 to 1; arguments as of `spearmans`."""
    return spearmans([one], other, groups, seed, names)[0]


def spearmans(
    columns: Sequence[Sequence[float]],
    other: Sequence[float],
    groups: Sequence[str] | None = None,
    seed: int = 0,
    names: tuple[str, str] = ("the one", "the other"),
) -> list[Estimate]:
    """Return Spearman's rho of each column with the other, from -1 to 1.

    Args:
        columns: Each of them has a value a row.
        other: Another value a row.
        groups: The group of each row; whole groups are drawn. None: each row alone.
        seed: Of the draws.
        names: What a column and the other are called, where one does not vary.
    """
    second, first = _codes(other), [_codes(each) for each in columns]
    still = [f"{names[1 if codes.max(initial=0) else 0]} does not vary" for codes in first]
    return _estimates(
        lambda weights: _rhos(first, second, weights), len(other), groups, seed, still
    )


def gain(
    new: Sequence[float],
    old: Sequence[float],
    people: Sequence[float],
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> Estimate:
    """Return how much higher the rho of `new` with `people` is than that of `old`, paired."""
    columns, wanted = [_codes(new), _codes(old)], _codes(people)

    def differences(weights: Floats) -> tuple[Floats, Known]:
        found, known = _rhos(columns, wanted, weights)
        return found[:1] - found[1:], known[:1] & known[1:]

    return _estimates(differences, len(people), groups, seed, ["one of them does not vary"])[0]


def _estimates(
    values: Values, n: int, groups: Sequence[str] | None, seed: int, still: Sequence[str]
) -> list[Estimate]:
    """Return each figure with its interval; `still` says of each why it is not defined."""
    names = list(groups) if groups is not None else [str(at) for at in range(n)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    member = np.array([numbers[name] for name in names], dtype=np.int64)
    if n < FEWEST:
        return [Estimate(None, None, None, n, f"n = {n} is under {FEWEST}")] * len(still)
    size = len(numbers)
    seen, known = values(np.ones((1, n)))
    drawn, sound = _in_blocks(values, resampled_counts(size, seed, _DRAWS), member)
    left_out, there = _in_blocks(values, 1.0 - np.eye(size), member)
    found = []
    for at, why in enumerate(still):
        if not known[at, 0]:
            found.append(Estimate(None, None, None, n, why))
            continue
        value = float(seen[at, 0])
        ends = _ends(value, drawn[at, sound[at]], left_out[at, there[at]], size)
        found.append(Estimate(value, ends.low, ends.high, n, ends.reason))
    return found


def _ends(value: float, drawn: Floats, left_out: Floats, size: int) -> Interval:
    """Return a figure's interval, of its draws of `size` groups and of leaving each of them out."""
    if size < FEWEST:
        return Interval(None, None, "none", few_groups(size))
    if len(drawn) < 0.95 * _DRAWS or not len(left_out):
        return Interval(None, None, "none", "not defined in many resamples")
    if drawn.max() - drawn.min() <= _ROUNDING:
        return Interval(None, None, "none", ALWAYS)
    return bca(value, drawn, left_out.mean() - left_out)


def _in_blocks(values: Values, weights: Floats, member: Codes) -> tuple[Floats, Known]:
    """Return the figures of weights of groups, shape [draws, groups], some draws at a time."""
    step = max(1, _AT_ONCE // len(member))
    found = [values(weights[at : at + step][:, member]) for at in range(0, len(weights), step)]
    figures, known = zip(*found, strict=True)
    return np.concatenate(figures, axis=1), np.concatenate(known, axis=1)


def _codes(values: Sequence[float]) -> Codes:
    """Return the number of each value among the distinct ones, the lowest first."""
    return np.unique(np.round(np.asarray(values, dtype=np.float64), 9), return_inverse=True)[1]


def _rhos(columns: Sequence[Codes], other: Codes, weights: Floats) -> tuple[Floats, Known]:
    """Return the rho of each column with the other, shape [columns, draws], and where it is one."""
    total = weights.sum(axis=1)
    second = _ranks(other, weights, total)
    weighted = weights * second
    right = (weighted * second).sum(axis=1)
    found = np.zeros((len(columns), len(weights)))
    known = np.zeros(found.shape, dtype=np.bool_)
    for at, codes in enumerate(columns):
        first = _ranks(codes, weights, total)
        spread = np.sqrt((weights * first * first).sum(axis=1) * right)
        some = known[at] = spread > _ROUNDING
        both = (weighted * first).sum(axis=1)
        found[at, some] = np.clip(both[some] / spread[some], -1.0, 1.0)
    return found, known


def _ranks(codes: Codes, weights: Floats, total: Floats) -> Floats:
    """Return the rank of each row among rows that are there `weights` times, less the mean."""
    last = np.cumsum(np.bincount(codes)) - 1
    ends = np.cumsum(weights[:, np.argsort(codes, kind="stable")], axis=1)[:, last]
    middles = (ends + np.pad(ends, ((0, 0), (1, 0)))[:, :-1]) / 2
    centred: Floats = middles[:, codes] - total[:, None] / 2
    return centred
