"""Spearman's rank correlation with a bootstrap interval over groups of rows.

Source: Spearman, 1904; ties get the mean of their ranks. The interval draws whole groups, and
ranks again in each draw: BCa. Several columns share what is expensive: the draws, and the ranks of
the column that they are compared with.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.stats.aggregate_scores import Defined
from harness.stats.estimate import Estimate, Figures, estimate_figures
from harness.stats.intervals import MIN_SAMPLE_SIZE, too_few

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_DRAWS = 2_000
_ROUNDING = 1e-9


def spearman(
    one: Sequence[float],
    other: Sequence[float],
    groups: Sequence[str] | None = None,
    seed: int = 0,
    names: tuple[str, str] = ("the one", "the other"),
) -> Estimate:
    """Return Spearman's rho of two columns, from -1 to 1; arguments as of `spearman_by_column`."""
    return spearman_by_column([one], other, groups, seed, names)[0]


def spearman_by_column(
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
    second, first = _value_codes(other), [_value_codes(column) for column in columns]
    reasons = [f"{names[1 if codes.max(initial=0) else 0]} does not vary" for codes in first]
    return _estimate(
        lambda weights: _rhos(first, second, weights), len(other), groups, seed, reasons
    )


def spearman_gain(
    new: Sequence[float],
    old: Sequence[float],
    people: Sequence[float],
    groups: Sequence[str] | None = None,
    seed: int = 0,
) -> Estimate:
    """Return how much higher the rho of `new` with `people` is than that of `old`, paired."""
    columns, target = [_value_codes(new), _value_codes(old)], _value_codes(people)

    def differences(weights: Floats) -> tuple[Floats, Defined]:
        rhos, defined = _rhos(columns, target, weights)
        return rhos[:1] - rhos[1:], defined[:1] & defined[1:]

    return _estimate(differences, len(people), groups, seed, ["one of them does not vary"])[0]


def _estimate(
    figures: Figures, n: int, groups: Sequence[str] | None, seed: int, reasons: Sequence[str]
) -> list[Estimate]:
    if n < MIN_SAMPLE_SIZE:
        return [Estimate(None, None, None, n, too_few(n).reason)] * len(reasons)
    return estimate_figures(figures, n, groups, _DRAWS, seed, reasons)


def _value_codes(values: Sequence[float]) -> Codes:
    """Return the number of each value among the distinct ones, the lowest first."""
    return np.unique(np.round(np.asarray(values, dtype=np.float64), 9), return_inverse=True)[1]


def _rhos(columns: Sequence[Codes], other: Codes, weights: Floats) -> tuple[Floats, Defined]:
    """Return the rho of each column with the other, shape [columns, draws], and where it is one."""
    total = weights.sum(axis=1)
    second = _ranks(other, weights, total)
    weighted = weights * second
    right = (weighted * second).sum(axis=1)
    rhos = np.zeros((len(columns), len(weights)))
    defined = np.zeros(rhos.shape, dtype=np.bool_)
    for index, codes in enumerate(columns):
        first = _ranks(codes, weights, total)
        spread = np.sqrt((weights * first * first).sum(axis=1) * right)
        varying = defined[index] = spread > _ROUNDING
        both = (weighted * first).sum(axis=1)
        rhos[index, varying] = np.clip(both[varying] / spread[varying], -1.0, 1.0)
    return rhos, defined


def _ranks(codes: Codes, weights: Floats, total: Floats) -> Floats:
    """Return the rank of each row among rows that are there `weights` times, less the mean."""
    last = np.cumsum(np.bincount(codes)) - 1
    ends = np.cumsum(weights[:, np.argsort(codes, kind="stable")], axis=1)[:, last]
    middles = (ends + np.pad(ends, ((0, 0), (1, 0)))[:, :-1]) / 2
    centred: Floats = middles[:, codes] - total[:, None] / 2
    return centred
