"""Whether a series shifted, and where: a CUSUM test by permutation, corrected over its places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, comb

import numpy as np
from numpy.typing import NDArray

from harness.statistics.families import holm

Floats = NDArray[np.float64]

ALARMS = 0.05
"""How often at most a family of series that never shifted has any shift called."""
FEWEST = 8
"""Values of a series: even a clean step is no rare order of seven, at 5 %."""
_DRAWS, _PER_TEST = 5_000, 40
"""Orders drawn: so many, and so many a test of the family, so that Holm's first step is passed."""
_PLAIN = 0.2
"""From this p on no more orders are drawn: it is no shift whatever they would say."""
_BLOCK = 500
_MOST = 2**16
"""Orders drawn at once, and numbers: 512 kB, which stay in a processor's cache."""
_EXACT = 1e-9


@dataclass(frozen=True)
class Shift:
    """A shift that was called: `at` is the first value after it, counted from 0.

    `before` and `after` are the means of the two stretches it divides; `corrected` is its p value
    within the whole family, from 0 to 1.
    """

    at: int
    before: float
    after: float
    corrected: float


@dataclass(frozen=True)
class Tested:
    """What was found of one series; `reason` says why it was not tested, "" where it was.

    `p` is that of the whole series, `corrected` the same by Holm. A series of equal values has
    p = 1 and is in no family: no order of them could be told from another.
    """

    p: float | None
    corrected: float | None
    reason: str
    shifts: tuple[Shift, ...] = ()


@dataclass(frozen=True)
class Family:
    """What was found of many series, in their order, and in a family of how many tests."""

    tested: tuple[Tested, ...]
    size: int


def shifts(series: Sequence[Sequence[float]], seed: int = 0) -> Family:
    """Return the shifts of each series, at most 5 % of such families having a false one.

    Each whole series is one hypothesis, "its values could have come in any order", corrected by
    Holm. Where that is rejected it is divided at its shift, and both parts are tested in turn; the
    p value of a part counts as often as the part would fit into its series, too.
    """
    arrays = [np.asarray(each, dtype=np.float64) for each in series]
    reasons = [_reason(each) for each in arrays]
    moved = [at for at, each in enumerate(arrays) if not reasons[at] and np.ptp(each) > 0]
    whole = [_Part(at, 0, arrays[at], 1.0) for at in moved]
    found = _p_values(whole, len(moved), seed)
    corrected = dict(zip(moved, holm(found), strict=True))
    p = dict(zip(moved, found, strict=True))
    called: dict[int, dict[int, float]] = {at: {} for at in range(len(arrays))}
    shifted = [(part, corrected[part.series]) for part in whole if corrected[part.series] <= ALARMS]
    while shifted:
        parts: list[tuple[_Part, float]] = []
        for part, sure in shifted:
            at = place(part.values)
            called[part.series][part.start + at] = sure
            size = len(arrays[part.series])
            parts += [(each, sure) for each in part.divided(at, size) if each.may(len(moved))]
        again = _p_values([part for part, _ in parts], len(moved), seed)
        shifted = [
            (part, max(sure, min(1.0, part.times * len(moved) * p_)))
            for (part, sure), p_ in zip(parts, again, strict=True)
            if part.times * len(moved) * p_ <= ALARMS
        ]
    return Family(
        tuple(
            Tested(None, None, reasons[at])
            if reasons[at]
            else Tested(p.get(at, 1.0), corrected.get(at, 1.0), "", _measured(values, called[at]))
            for at, values in enumerate(arrays)
        ),
        len(moved),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """Some values of a series, from the one numbered `start` on, and how many such it holds."""

    series: int
    start: int
    values: Floats
    times: float

    def divided(self, at: int, size: int) -> Iterator[_Part]:
        for values, start in ((self.values[:at], 0), (self.values[at:], at)):
            yield _Part(self.series, self.start + start, values, size / len(values))

    def may(self, family: int) -> bool:
        """Whether any order of the values could be rare enough."""
        if len(self.values) < FEWEST or np.ptp(self.values) == 0:
            return False
        return self.times * family * _least(len(self.values)) <= ALARMS


def _p_values(parts: Sequence[_Part], family: int, seed: int) -> list[float]:
    """Return the p value of each part; those of one length share their orders."""
    found = [1.0] * len(parts)
    alike: dict[tuple[int, float], list[int]] = {}
    for number, part in enumerate(parts):
        alike.setdefault((len(part.values), part.times), []).append(number)
    for (_, times), some in alike.items():
        table = np.stack([parts[number].values for number in some], axis=1)
        values = p_values(table, max(_DRAWS, ceil(_PER_TEST * times * family)), seed)
        for number, value in zip(some, values.tolist(), strict=True):
            found[number] = value
    return found


def p_values(table: Floats, draws: int, seed: int) -> Floats:
    """Return the p value of each column's greatest cumulative sum, shape [series].

    `table` [values, series] holds series of one length in the order of time. The statistic is the
    greatest distance from 0 of the running sum of a series' differences from its mean, in standard
    deviations that such a sum has at its place; the greatest of all places, and so corrected for
    having looked at each. p = (1 + as far) / (draws + 1) over orders drawn at random, the same for
    all series. One that is plainly no shift is left after fewer: its p is over those drawn, and
    above 0.2.
    """
    columns = np.ascontiguousarray((table - table.mean(axis=0)).T)
    least = _farthest(columns) - _EXACT * np.abs(columns).sum(axis=1)
    as_far = np.zeros(len(columns), dtype=np.int64)
    made = np.zeros(len(columns), dtype=np.int64)
    going = np.arange(len(columns))
    for orders in _orders(len(table), draws, seed):
        for at in going:
            as_far[at] += np.count_nonzero(_farthest(columns[at].take(orders)) >= least[at])
        made[going] += len(orders)
        going = going[(1 + as_far[going]) / (1 + made[going]) <= _PLAIN]
        if not going.size:
            break
    p: Floats = (1 + as_far) / (1 + made)
    return p


def place(values: Floats) -> int:
    """Return the number of the first value after the likeliest shift, from 1 to n - 1."""
    return int(np.abs(_sums(values - values.mean())).argmax()) + 1


def _measured(values: Floats, called: Mapping[int, float]) -> tuple[Shift, ...]:
    """Return the shifts in the order of time, each with the means on its two sides."""
    ordered = sorted(called.items())
    ends = [0, *(at for at, _ in ordered), len(values)]
    means = [float(values[one:other].mean()) for one, other in pairwise(ends)]
    return tuple(
        Shift(at, means[number], means[number + 1], corrected)
        for number, (at, corrected) in enumerate(ordered)
    )


def _reason(values: Floats) -> str:
    return f"{len(values)} values are under {FEWEST}" if len(values) < FEWEST else ""


def _least(n: int) -> float:
    """Return the p value of a clean step in the middle of n values, the least there can be."""
    return 2 / comb(n, n // 2)


def _farthest(series: Floats) -> Floats:
    """Return the greatest distance from 0 of each row's running sum."""
    sums = _sums(series)
    found: Floats = np.maximum(sums.max(axis=-1), -sums.min(axis=-1))
    return found


def _sums(series: Floats) -> Floats:
    """Return the running sum of each row before its last value, divided by its usual size."""
    n = series.shape[-1]
    before = np.arange(1, n)
    sums: Floats = np.cumsum(series, axis=-1)[..., :-1]
    sums /= np.sqrt(before * (n - before) / n)
    return sums


def _orders(n: int, draws: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Yield, a block at a time, orders of n values drawn at random, shape [block, n]."""
    generator = np.random.default_rng([seed, n, 2])
    block = max(1, min(_BLOCK, _MOST // n))
    first = np.tile(np.arange(n), (block, 1))
    for start in range(0, draws, block):
        yield generator.permuted(first, axis=1)[: draws - start]
