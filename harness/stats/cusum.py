"""Whether and where a series of nights shifted: a CUSUM test by permutations of blocks of nights.

Source of the length of a block in an AR(1) series: Carlstein, "The Use of Subseries Values for
Estimating the Variance of a General Statistic from a Stationary Sequence", 1986.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil

import numpy as np
from numpy.typing import NDArray

from harness.stats.corrections import holm

FAMILYWISE_ERROR_RATE = 0.05
"""The chance aimed at that a family of series without shifts has any shift called."""
MIN_SERIES_VALUES = 8
"""Shorter series are not tested: of seven values no order is rare enough."""
MAX_ORDERS = 100_000
"""A series that would need more orders of its values than this is not tested."""
_MIN_ORDERS, _MIN_ORDERS_OF_PART = 5_000, 1_000
_MAX_ORDERS_AT_ONCE, _MAX_VALUES_AT_ONCE = 500, 2**16
"""Orders and values at once: 512 kB, which stay in a processor's cache."""
_MAX_CORRELATION, _NO_CORRELATION = 0.95, 0.05
_TIE_TOLERANCE = 1e-9
"""Of the sum of a series' absolute values."""

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Shift:
    """A significant shift: `at` is the first value after it, counted from 0.

    `before` and `after` are the means of the two stretches it divides; `corrected` is its p value
    within the whole family, from 0 to 1.
    """

    at: int
    before: float
    after: float
    corrected: float


@dataclass(frozen=True)
class ShiftTest:
    """The result for one series; `reason` says why it was not tested, "" where it was.

    `p` is that of the whole series, `corrected` the same by Holm. A series of equal values has
    p = 1 and is in no family: all their orders are the same.
    """

    p: float | None
    corrected: float | None
    reason: str
    shifts: tuple[Shift, ...] = ()


@dataclass(frozen=True)
class ShiftFamily:
    """The results of many series, in their order, and the size of their family of tests."""

    results: tuple[ShiftTest, ...]
    size: int


def find_shifts(
    series: Sequence[Sequence[float]], seed: int = 0, every_night: bool = False
) -> ShiftFamily:
    """Return the shifts of each series.

    Each whole series is one hypothesis, "it never shifted", corrected by Holm. Where that is
    rejected the series is divided at its shift, and both parts are tested in turn, each with the
    correlation of its own nights; the p value of a part counts as often as the part would fit into
    its series, too.

    Args:
        series: Values in the order of time.
        seed: Of the orders that are drawn.
        every_night: Keep the 5 % over all nights on which a series is tested again as it grows, in
            place of one: p counts as often as the series has values.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in series]
    family = [n for n, values in enumerate(arrays) if _is_testable(values)]
    looks = [len(values) if every_night else 1 for values in arrays]
    needed = [_needed_orders(times * len(family)) for times in looks]
    p = {
        n: _p_value(arrays[n], max(_MIN_ORDERS, needed[n]), seed, FAMILYWISE_ERROR_RATE / looks[n])
        for n in family
        if needed[n] <= MAX_ORDERS
    }
    weighted = [min(1.0, looks[n] * p.get(n, 1.0)) for n in family]
    corrected = dict(zip(family, holm(weighted), strict=True))
    results = []
    for n, values in enumerate(arrays):
        reason = ""
        if len(values) < MIN_SERIES_VALUES:
            reason = f"{len(values)} values are under {MIN_SERIES_VALUES}"
        elif n in corrected and n not in p:
            reason = f"it would need {needed[n]:,} orders of its values, over {MAX_ORDERS:,}"
        if reason:
            results.append(ShiftTest(None, None, reason))
            continue
        called = list(_divide(values, 0, corrected.get(n, 1.0), looks[n] * len(family), seed))
        ends = [0, *(at for at, _ in called), len(values)]
        means = [float(values[ends[i] : ends[i + 1]].mean()) for i in range(len(called) + 1)]
        shifts = tuple(
            Shift(at, means[i], means[i + 1], level) for i, (at, level) in enumerate(called)
        )
        results.append(ShiftTest(p.get(n, 1.0), corrected.get(n, 1.0), "", shifts))
    return ShiftFamily(tuple(results), len(family))


@cache
def clear_shift_p_value(n: int) -> float:
    """Return the p value of the clearest shift there can be: all values alike before and after.

    Few nights or long blocks have few different orders, so that even this one may not be rare
    enough to be called.
    """
    return _p_value((np.arange(n) >= n // 2).astype(np.float64), _MIN_ORDERS, 0)


def block_length(values: Floats) -> int:
    """Return how many consecutive nights are moved together, by how alike neighbours are."""
    n = len(values)
    centred = values - values.mean()
    rho = float((centred[:-1] * centred[1:]).sum() / (centred**2).sum())
    rho = min(_MAX_CORRELATION, rho + (1 + 3 * rho) / n)  # the second term: its bias
    if rho <= _NO_CORRELATION:
        return 1
    length: float = (2 * rho / (1 - rho**2)) ** (2 / 3) * n ** (1 / 3)
    return min(n, ceil(length))


def locate_shift(values: Floats) -> int:
    """Return the number of the first value after the likeliest shift, from 1 to n - 1."""
    return int(_distances(values - values.mean()).argmax()) + 1


def _divide(
    values: Floats, start: int, corrected: float, weight: float, seed: int
) -> Iterator[tuple[int, float]]:
    """Yield place and p value of the shift of `values` and of its parts', in the order of time."""
    if corrected > FAMILYWISE_ERROR_RATE:
        return
    place = locate_shift(values)
    for part, first in ((values[:place], start), (values[place:], start + place)):
        if first > start:
            yield start + place, corrected
        times = weight * len(values) / len(part)
        orders = _needed_orders(times)
        if _is_testable(part) and orders <= MAX_ORDERS:
            draws = max(_MIN_ORDERS_OF_PART, orders)
            p = times * _p_value(part, draws, seed, FAMILYWISE_ERROR_RATE / times)
            yield from _divide(part, first, max(corrected, p), times, seed)


def _is_testable(values: Floats) -> bool:
    return len(values) >= MIN_SERIES_VALUES and bool(np.ptp(values) > 0)


def _needed_orders(times: float) -> int:
    """Return how many orders a p value needs to be called, where it counts so many times."""
    return ceil(times / FAMILYWISE_ERROR_RATE)


def _p_value(values: Floats, draws: int, seed: int, needed: float = 1.0) -> float:
    """Return the p value of the greatest distance of a running sum from 0, of all places.

    The running sum is that of the differences from the mean, in the standard deviations that such
    a sum has at its place. p = (1 + orders as far) / (draws + 1). One order: the series as a circle
    is cut at a random night, and its blocks are put together at random. The drawing stops early
    where p is sure to be above `needed`.
    """
    n, length = len(values), block_length(values)
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    least = _distances(centred).max() - _TIE_TOLERANCE * np.abs(centred).sum()
    circle = np.concatenate([centred, centred])  # night n is night 0 again
    blocks = np.arange(-(-n // length) * length).reshape(-1, length)
    generator = np.random.default_rng([seed, n])
    at_once = max(1, min(_MAX_ORDERS_AT_ONCE, _MAX_VALUES_AT_ONCE // n))
    as_far = drawn = 0
    while drawn < draws and 1 + as_far <= needed * (draws + 1):
        count = min(at_once, draws - drawn)
        orders = np.tile(np.arange(len(blocks)), (count, 1))
        nights = blocks[generator.permuted(orders, axis=1)].reshape(count, -1)
        if blocks.size > n:  # the last block is shorter
            nights = nights[nights < n].reshape(count, n)
        nights = nights + generator.integers(n, size=(count, 1))
        as_far += int(np.count_nonzero(_distances(circle.take(nights)).max(axis=-1) >= least))
        drawn += count
    return (1 + as_far) / (1 + drawn)


def _distances(centred: Floats) -> Floats:
    """Return how far each running sum before the last is from 0, in its standard deviations."""
    n = centred.shape[-1]
    before = np.arange(1, n)
    sums: Floats = np.cumsum(centred, axis=-1)[..., :-1]
    sums *= 1 / np.sqrt(before * (n - before) / n)
    return np.abs(sums, out=sums)
