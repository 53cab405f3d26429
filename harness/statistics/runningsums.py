"""How far a series' running sum goes from 0, beside those of its values in other orders."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

_PLAIN = 0.2
"""From this p on no more orders are drawn: it is no shift whatever they would say."""
_BLOCK = 500
_MOST = 2**16
"""Orders drawn at once, and numbers: 512 kB, which stay in a processor's cache."""
_EXACT = 1e-6
"""Of a series' absolute values: sums nearer than this are as far, as they are added in 32 bits."""
_LIMIT, _FEW = 100_000, 1_000
"""Orders that are drawn at most, and those drawn in place of more, to tell about where p is."""
_LEAST = 1e-100
"""What values that are all 0 are divided by."""
_SURE = 1e-3
"""Orders as far that are expected among all: of so few none would be drawn."""


def p_values(table: Floats, draws: int, seed: int, needed: float = 1.0) -> Floats:
    """Return the p value of each column's greatest cumulative sum, shape [series].

    The statistic is the greatest distance from 0 of the running sum of a series' differences from
    its mean, in standard deviations that such a sum has at its place; the greatest of all places,
    and so corrected for having looked at each. p = (1 + as far) / (draws + 1) over orders drawn at
    random, the same for all series.

    The drawing stops early only towards "no shift": such a p is over the orders drawn, and above
    0.2 or above `needed`. Where so few of all orders are as far that none would be drawn, but for
    one time in 1,000, none is drawn. Of more than 100,000 that would have to be, 1,000 are.

    Args:
        table: Series of one length, in the order of time, shape [values, series].
        draws: How many orders.
        seed: Of the orders.
        needed: What p must not be above to matter.
    """
    columns = np.ascontiguousarray((table - table.mean(axis=0)).T)
    columns /= np.maximum(np.abs(columns).max(axis=1, keepdims=True), _LEAST)
    least = farthest(columns) - _EXACT * np.abs(columns).sum(axis=1)
    as_far = np.zeros(len(columns), dtype=np.int64)
    made = np.full(len(columns), draws, dtype=np.int64)
    going = np.flatnonzero(bound(columns, least) * draws > _SURE)
    made[going] = 0
    short = columns.astype(np.float32)
    drawn = draws if draws <= _LIMIT else _FEW
    for orders in _orders(len(table), drawn, seed) if going.size else ():
        for at in going:
            as_far[at] += np.count_nonzero(farthest(short[at].take(orders)) >= least[at])
        made[going] += len(orders)
        plain = (1 + as_far[going]) / (1 + made[going]) > _PLAIN
        going = going[~plain & (1 + as_far[going] <= needed * (draws + 1))]
        if not going.size:
            break
    p: Floats = (1 + as_far) / (1 + made)
    return p


def place(values: Floats) -> int:
    """Return the number of the first value after the likeliest shift, from 1 to n - 1."""
    return int(np.abs(_sums(values - values.mean())).argmax()) + 1


def farthest(series: Floats) -> Floats:
    """Return the greatest distance from 0 of each row's running sum; its values add up to 0."""
    sums = _sums(series)
    found: Floats = np.maximum(sums.max(axis=-1), -sums.min(axis=-1))
    return found


def bound(series: Floats, least: Floats) -> Floats:
    """Return what share of the orders of each row is as far as `least` at most, above 1 for all.

    A running sum is that of k values drawn without replacement, or of all others, which by
    Bennett's inequality is rarely far, and never farther than k of the widest. Source: Hoeffding,
    "Probability Inequalities for Sums of Bounded Random Variables", 1963 (theorem 4: what holds
    with replacement holds without).
    """
    n = series.shape[-1]
    few = np.minimum(np.arange(1, n), np.arange(1, n)[::-1])
    far = np.maximum(least, 0)[:, None] * _usual(n)
    widest = np.maximum(np.abs(series).max(axis=-1), _LEAST)[:, None]
    spread = np.maximum((series**2).mean(axis=-1)[:, None], _EXACT * widest**2) * few
    times = widest * far / spread
    share = np.exp(-spread / widest**2 * ((1 + times) * np.log1p(times) - times))
    found: Floats = 2 * np.where(far > few * widest, 0, share).sum(axis=-1)
    return found


def _sums(series: Floats) -> Floats:
    """Return the running sum of each row before its last value, divided by its usual size."""
    sums: Floats = np.cumsum(series, axis=-1)[..., :-1]
    sums /= _usual(series.shape[-1]).astype(sums.dtype)
    return sums


def _usual(n: int) -> Floats:
    before = np.arange(1, n)
    found: Floats = np.sqrt(before * (n - before) / n)
    return found


def _orders(n: int, draws: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield, a block at a time, orders of n values drawn at random, shape [block, n]."""
    generator = np.random.default_rng([seed, n, 2])
    block = max(1, min(_BLOCK, _MOST // n))
    # Small numbers are shuffled in a third of the time.
    first = np.tile(np.arange(n, dtype=np.min_scalar_type(n)), (block, 1))
    for start in range(0, draws, block):
        yield generator.permuted(first, axis=1)[: draws - start].astype(np.intp)
