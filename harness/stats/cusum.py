"""Whether and where a series of nights shifted: a CUSUM test by permutations of blocks of nights.

Source of the length of a block in an AR(1) series: Carlstein, "The Use of Subseries Values for
Estimating the Variance of a General Statistic from a Stationary Sequence", 1986.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
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
    p = 1 and is in no family: no order of them could be told from another.
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
        every_night: Keep the 5 % over all nights on which a series is tested anew as it grows, in
            place of one: p counts as often as the series has values.
    """
    arrays = [np.asarray(values, dtype=np.float64) for values in series]
    long = [len(values) >= MIN_SERIES_VALUES for values in arrays]
    varying = [n for n, values in enumerate(arrays) if long[n] and np.ptp(values) > 0]
    looks = [len(values) if every_night else 1 for values in arrays]
    needed = [_needed_orders(times * len(varying)) for times in looks]
    p = {
        n: _p_value(arrays[n], max(_MIN_ORDERS, needed[n]), seed, FAMILYWISE_ERROR_RATE / looks[n])
        for n in varying
        if needed[n] <= MAX_ORDERS
    }
    weighted = [min(1.0, looks[n] * p.get(n, 1.0)) for n in varying]
    corrected = dict(zip(varying, holm(weighted), strict=True))
    results = []
    for n, values in enumerate(arrays):
        if not long[n]:
            reason = f"{len(values)} values are under {MIN_SERIES_VALUES}"
            results.append(ShiftTest(None, None, reason))
        elif n in corrected and n not in p:
            reason = f"it would need {needed[n]:,} orders of its values, over {MAX_ORDERS:,}"
            results.append(ShiftTest(None, None, reason))
        else:
            corrected_p = corrected.get(n, 1.0)
            called = (
                dict(_find_parts(values, 0, corrected_p, looks[n] * len(varying), seed))
                if corrected_p <= FAMILYWISE_ERROR_RATE
                else {}
            )
            shifts = _measure_shifts(values, called)
            results.append(ShiftTest(p.get(n, 1.0), corrected_p, "", shifts))
    return ShiftFamily(tuple(results), len(varying))


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


def _p_value(values: Floats, draws: int, seed: int, needed: float = 1.0) -> float:
    """Return the p value of the greatest distance of a running sum from 0, of all places.

    The running sum is that of the differences from the mean, in the standard deviations that such
    a sum has at its place. p = (1 + orders as far) / (draws + 1); the drawing stops early where p
    is sure to be above `needed`.
    """
    centred = values - values.mean()
    centred /= np.abs(centred).max()
    least = _distances(centred).max() - _TIE_TOLERANCE * np.abs(centred).sum()
    as_far = drawn = 0
    circle = np.concatenate([centred, centred])
    for orders in _draw_orders(len(centred), block_length(values), draws, seed):
        as_far += int(np.count_nonzero(_distances(circle.take(orders)).max(axis=-1) >= least))
        drawn += len(orders)
        if 1 + as_far > needed * (draws + 1):
            break
    return (1 + as_far) / (1 + drawn)


def _draw_orders(n: int, length: int, draws: int, seed: int) -> Iterator[NDArray[np.intp]]:
    """Yield orders of n nights in a circle, cut at random and put together block by block.

    The circle is written twice, one after the other: night n is night 0 again.
    """
    generator = np.random.default_rng([seed, n])
    blocks = np.arange(-(-n // length) * length).reshape(-1, length)
    at_once = max(1, min(_MAX_ORDERS_AT_ONCE, _MAX_VALUES_AT_ONCE // n))
    block_numbers = np.tile(np.arange(len(blocks)), (at_once, 1))
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        nights = blocks[generator.permuted(block_numbers[:count], axis=1)].reshape(count, -1)
        if blocks.size > n:  # the last block is shorter
            nights = nights[nights < n].reshape(count, n)
        yield nights + generator.integers(n, size=(count, 1))


def _distances(centred: Floats) -> Floats:
    """Return how far each running sum before the last is from 0, in its standard deviations."""
    n = centred.shape[-1]
    before = np.arange(1, n)
    sums: Floats = np.cumsum(centred, axis=-1)[..., :-1]
    sums *= 1 / np.sqrt(before * (n - before) / n)
    return np.abs(sums, out=sums)


def _find_parts(
    values: Floats, start: int, corrected: float, weight: float, seed: int
) -> Iterator[tuple[int, float]]:
    """Yield the place and p value of the shift of `values`, and of those of its two parts."""
    place = locate_shift(values)
    yield start + place, corrected
    for part, first in ((values[:place], start), (values[place:], start + place)):
        times = weight * len(values) / max(1, len(part))
        orders = _needed_orders(times)
        if len(part) < MIN_SERIES_VALUES or np.ptp(part) == 0 or orders > MAX_ORDERS:
            continue
        draws = max(_MIN_ORDERS_OF_PART, orders)
        p = times * _p_value(part, draws, seed, FAMILYWISE_ERROR_RATE / times)
        if p <= FAMILYWISE_ERROR_RATE:
            yield from _find_parts(part, first, max(corrected, p), times, seed)


def _needed_orders(times: float) -> int:
    """Return how many orders a p value needs to be called, where it counts so many times."""
    return ceil(times / FAMILYWISE_ERROR_RATE)


def _measure_shifts(values: Floats, p_by_position: dict[int, float]) -> tuple[Shift, ...]:
    """Return the shifts in the order of time, each with the means on its two sides."""
    ordered = sorted(p_by_position.items())
    ends = [0, *(start for start, _ in ordered), len(values)]
    means = [float(values[one:other].mean()) for one, other in pairwise(ends)]
    return tuple(
        Shift(start, means[number], means[number + 1], corrected)
        for number, (start, corrected) in enumerate(ordered)
    )
