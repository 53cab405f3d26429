"""Spearman's rank correlation with a bootstrap interval over groups of rows.

Source: Spearman, 1904; ties get the mean of their ranks. The interval draws whole groups, and
ranks anew in each draw: BCa. Several columns share what is
expensive: the draws, and the ranks of the column that they are compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from harness.stats.bootstrap import BootstrapInterval, bca, resampled_counts
from harness.stats.estimate import Estimate
from harness.stats.intervals import MIN_SAMPLE_SIZE, explain_few_groups
from harness.stats.whole_sets import Defined

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Values = Callable[[Floats], tuple[Floats, Defined]]
"""Makes figures, shape [figures, draws], of weights [draws, n]; says where they are defined."""

SAME_IN_EVERY_RESAMPLE = "the same in every resample"
_DRAWS = 2_000
_MAX_WEIGHTS_PER_BLOCK = 500_000
"""Weights that are looked at together: a few MB."""
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
    undefined_reasons = [
        f"{names[1 if codes.max(initial=0) else 0]} does not vary" for codes in first
    ]
    return _estimates(
        lambda weights: _rhos(first, second, weights), len(other), groups, seed, undefined_reasons
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

    return _estimates(differences, len(people), groups, seed, ["one of them does not vary"])[0]


def _estimates(
    values: Values,
    n: int,
    groups: Sequence[str] | None,
    seed: int,
    undefined_reasons: Sequence[str],
) -> list[Estimate]:
    """Return each figure with its interval; `undefined_reasons` says why one has no value."""
    names = list(groups) if groups is not None else [str(index) for index in range(n)]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    member = np.array([numbers[name] for name in names], dtype=np.int64)
    if n < MIN_SAMPLE_SIZE:
        return [Estimate(None, None, None, n, f"n = {n} is under {MIN_SAMPLE_SIZE}")] * len(
            undefined_reasons
        )
    size = len(numbers)
    observed, defined = values(np.ones((1, n)))
    drawn, drawn_defined = _compute_in_blocks(values, resampled_counts(size, seed, _DRAWS), member)
    left_out, left_out_defined = _compute_in_blocks(values, 1.0 - np.eye(size), member)
    estimates = []
    for index, reason in enumerate(undefined_reasons):
        if not defined[index, 0]:
            estimates.append(Estimate(None, None, None, n, reason))
            continue
        value = float(observed[index, 0])
        ends = _bootstrap_interval(
            value,
            drawn[index, drawn_defined[index]],
            left_out[index, left_out_defined[index]],
            size,
        )
        estimates.append(Estimate(value, ends.low, ends.high, n, ends.reason))
    return estimates


def _bootstrap_interval(
    value: float, drawn: Floats, left_out: Floats, size: int
) -> BootstrapInterval:
    """Return a figure's interval, of its draws of `size` groups and of leaving each of them out."""
    if size < MIN_SAMPLE_SIZE:
        return BootstrapInterval(None, None, explain_few_groups(size))
    if len(drawn) < 0.95 * _DRAWS or not len(left_out):
        return BootstrapInterval(None, None, "not defined in many resamples")
    if drawn.max() - drawn.min() <= _ROUNDING:
        return BootstrapInterval(None, None, SAME_IN_EVERY_RESAMPLE)
    return bca(value, drawn, left_out.mean() - left_out)


def _compute_in_blocks(values: Values, weights: Floats, member: Codes) -> tuple[Floats, Defined]:
    """Return the figures of weights of groups, shape [draws, groups], some draws at a time."""
    step = max(1, _MAX_WEIGHTS_PER_BLOCK // len(member))
    blocks = [
        values(weights[start : start + step][:, member]) for start in range(0, len(weights), step)
    ]
    figures, defined = zip(*blocks, strict=True)
    return np.concatenate(figures, axis=1), np.concatenate(defined, axis=1)


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
