"""Whether two systems are interchangeable: the sign-flip test of paired differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from harness.statistics.intervals import values_of

Floats = NDArray[np.float64]
Total = Callable[[Sequence[float]], float | None]

LEAST_DRAWS = 10_000
_PER_TEST = 40
_RARE = 4
_BLOCK = 500
_TOGETHER = 2**16
"""Patterns of signs whose sums are held at once."""
_MOST = 2**23
"""Signs held at once: 32 MB."""
_EXACT = 1e-9
_SINGLE = 1e-5
"""Sums this close, in standard deviations, are equal: float32 says no more."""


def draws_for(family: int, alarms: float = 0.05) -> int:
    """Return how many sign patterns to draw, so that Holm's first step can be passed.

    `alarms` is how often at most the family may hold a false alarm, by two-sided tests.
    """
    # In floating point 1 - 0.999 is a little more than 0.001, or a little less.
    per_test = _PER_TEST if alarms >= 0.05 else round(_RARE / alarms, 3)
    return max(LEAST_DRAWS, ceil(per_test * family))


def p_values(table: Floats, draws: int, seed: int) -> Floats:
    """Return the two-sided p value of each column's sum, shape [tests].

    `table` [units, tests] holds the differences; each unit's sign is flipped for all tests alike.
    Where a column has so few differences other than 0 that `draws` suffice for every pattern, p is
    the share of patterns whose sum is as far from 0; else (1 + as far) / (draws + 1).
    """
    changed = np.count_nonzero(table, axis=0)
    found = np.ones(table.shape[1])
    few = changed <= _enumerable(draws)
    for at in np.flatnonzero(few & (changed > 0)):
        values = table[table[:, at] != 0, at]
        least = abs(values.sum()) - _EXACT * np.abs(values).sum()
        as_far = sum(int((np.abs(signs @ values) >= least).sum()) for signs in _every(len(values)))
        found[at] = as_far / 2 ** len(values)
    if not few.all():
        found[~few] = _drawn(table[:, ~few], draws, seed)
    return found


def _drawn(table: Floats, draws: int, seed: int) -> Floats:
    scaled = (table / np.sqrt((table**2).sum(axis=0))).astype(np.float32)
    sums = scaled.sum(axis=0, dtype=np.float64).astype(np.float32)
    least = np.abs(sums) - _SINGLE
    as_far = np.zeros(table.shape[1], dtype=np.int64)
    for flipped in _flips(len(table), draws, seed):
        as_far += (np.abs(sums - 2 * (flipped @ scaled)) >= least).sum(axis=0)
    p: Floats = (1 + as_far) / (draws + 1)
    return p


def p_of_whole(left: Floats, right: Floats, total: Total, draws: int, seed: int) -> float:
    """Return the two-sided p value of a difference between two numbers of the whole set.

    `left` and `right` [units, counts] are the two sides' counts. In place of flipping a sign the
    sides' counts are swapped and both numbers recomputed by `total`. A swap that leaves one of
    them undefined counts as far as the difference seen, which must be defined.
    """
    observed = differ(left.sum(axis=0), right.sum(axis=0), total)
    assert observed is not None
    changed = (left != right).any(axis=1)
    if not changed.any():
        return 1.0
    gap = (left - right) / 2
    middle = (left + right).sum(axis=0) / 2
    exact = int(changed.sum()) <= _enumerable(draws)
    moves: Iterable[Floats]
    if exact:
        moves = (signs @ gap[changed] for signs in _every(int(changed.sum())))
    else:
        flips = _flips(len(gap), draws, seed)
        moves = _joined(gap.sum(axis=0) - 2 * (block @ gap) for block in flips)
    as_far = 0
    for some in moves:
        rows, times = np.unique(some, axis=0, return_counts=True)
        values, known = differences(middle + rows, middle - rows, total)
        as_far += int(times[~known | (np.abs(values) >= abs(observed) - _EXACT)].sum())
    return as_far / 2 ** int(changed.sum()) if exact else (1 + as_far) / (draws + 1)


def differ(left: Floats, right: Floats, total: Total) -> float | None:
    """Return the difference of what two sides' summed counts come to; None where one is None."""
    one, other = total(left.tolist()), total(right.tolist())
    return None if one is None or other is None else one - other


def differences(left: Floats, right: Floats, total: Total) -> tuple[Floats, NDArray[np.bool_]]:
    """Return `differ` of each row [rows, counts], and which of them are defined."""
    (one, there), (other, here) = values_of(total, left), values_of(total, right)
    return one - other, there & here


def _enumerable(draws: int) -> int:
    """Return how many signs have at most `draws` patterns."""
    return draws.bit_length() - 1


def _every(count: int) -> Iterator[Floats]:
    """Yield every pattern of `count` signs, [patterns, count], so many at a time."""
    for start in range(0, 2**count, _TOGETHER):
        numbers = np.arange(start, min(start + _TOGETHER, 2**count))[:, None]
        yield 1.0 - 2.0 * (numbers >> np.arange(count) & 1).astype(np.float64)


def _joined(blocks: Iterable[Floats]) -> Iterator[Floats]:
    """Yield blocks of rows put together, so that few are left and none is great."""
    kept: list[Floats] = []
    for block in blocks:
        kept.append(block)
        if sum(map(len, kept)) >= _TOGETHER:
            yield np.concatenate(kept)
            kept = []
    if kept:
        yield np.concatenate(kept)


def _flips(units: int, draws: int, seed: int) -> Iterator[NDArray[np.float32]]:
    """Yield, a block at a time, which units' signs each draw flips: 1 or 0."""
    generator = np.random.default_rng([seed, units, 1])
    block = max(1, min(_BLOCK, _MOST // units))
    for start in range(0, draws, block):
        packed = generator.integers(0, 256, size=(block, -(-units // 8)), dtype=np.uint8)
        bits = np.unpackbits(packed, axis=1, count=units)
        yield bits[: draws - start].astype(np.float32)
