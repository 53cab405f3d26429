"""Whether a series shifted, and where: a CUSUM test by permutation, corrected over its places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, comb

import numpy as np

from harness.statistics.families import holm
from harness.statistics.runningsums import Floats, farthest, p_values, place

ALARMS = 0.05
"""How often at most a family of series that never shifted has any shift called."""
FEWEST = 8
"""Values of a series: even a clean step is no rare order of seven, at 5 %."""
MOST, OF_ALL = 5, 150
"""Shifts that are looked for in one series, and in all: after so many no part is tested."""
_DRAWS, _OF_PART, _PER_TEST = 5_000, 1_000, 20
"""Orders drawn of a whole series and of a part: so many at least, and so many for each time that
its p counts, so that Holm's first step can be passed."""


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


def shifts(series: Sequence[Sequence[float]], seed: int = 0, every_night: bool = False) -> Family:
    """Return the shifts of each series, at most 5 % of such families having a false one.

    Each whole series is one hypothesis, "its values could have come in any order", corrected by
    Holm. Where that is rejected it is divided at its shift, and both parts are tested in turn; the
    p value of a part counts as often as the part would fit into its series, too. The
    clearest parts come first; the search ends at `MOST` shifts of a series and `OF_ALL` of all.

    Args:
        series: Values in the order of time.
        seed: Of the orders that are drawn.
        every_night: Keep the 5 % over all nights on which a series is tested anew as it grows, in
            place of one: p counts as often as the series has values. So a series of n values
            spends 5 % / n, and from 8 values to 60 that comes to 4 % in all, as tests of nearly
            the same values mostly agree.
    """
    arrays = [np.asarray(each, dtype=np.float64) for each in series]
    reasons = [_reason(each) for each in arrays]
    moved = [at for at, each in enumerate(arrays) if not reasons[at] and np.ptp(each) > 0]
    whole = [_Part(at, 0, arrays[at], len(arrays[at]) if every_night else 1) for at in moved]
    found = _p_values(whole, _DRAWS, 1, len(moved), seed)
    looked = [min(1.0, part.times * p) for part, p in zip(whole, found, strict=True)]
    corrected = dict(zip(moved, holm(looked), strict=True))
    p = dict(zip(moved, found, strict=True))
    called: dict[int, dict[int, float]] = {at: {} for at in range(len(arrays))}
    shifted = [(part, corrected[part.series]) for part in whole if corrected[part.series] <= ALARMS]
    waiting: list[tuple[_Part, float]] = []
    while shifted or waiting:
        for part, sure in shifted:
            called[part.series][part.start + part.place] = sure
            waiting += [(each, sure) for each in part.divided() if each.may(len(moved))]
        tried, waiting = _next(waiting, {at: len(each) for at, each in called.items()})
        again = _p_values([part for part, _ in tried], _OF_PART, len(moved), len(moved), seed)
        shifted = [
            (part, max(sure, min(1.0, part.times * len(moved) * p_)))
            for (part, sure), p_ in zip(tried, again, strict=True)
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
    """Some values of a series, from the one numbered `start` on; its p counts `times` times."""

    series: int
    start: int
    values: Floats
    times: float

    @property
    def place(self) -> int:
        return place(self.values)

    @property
    def clear(self) -> float:
        """How far its running sum goes, in standard deviations of the values."""
        centred = self.values - self.values.mean()
        centred /= np.abs(centred).max()
        return float(farthest(centred) / centred.std())

    def divided(self) -> Iterator[_Part]:
        at, whole = self.place, self.times * len(self.values)
        for values, start in ((self.values[:at], 0), (self.values[at:], at)):
            yield _Part(self.series, self.start + start, values, whole / len(values))

    def may(self, family: int) -> bool:
        """Whether any order of the values could be rare enough."""
        if len(self.values) < FEWEST or np.ptp(self.values) == 0:
            return False
        return self.times * family * _least(len(self.values)) <= ALARMS


def _next(
    waiting: Sequence[tuple[_Part, float]], called: Mapping[int, int]
) -> tuple[list[tuple[_Part, float]], list[tuple[_Part, float]]]:
    """Return the parts to test now, no more than may yet be called, and those that wait."""
    tried: list[tuple[_Part, float]] = []
    later: list[tuple[_Part, float]] = []
    room = OF_ALL - sum(called.values())
    so_far = dict(called)
    for each in sorted(waiting, key=lambda each: -each[0].clear) if room > 0 else ():
        series = each[0].series
        if len(tried) < room and so_far[series] < MOST:
            tried.append(each)
            so_far[series] += 1
        elif called[series] < MOST:
            later.append(each)
    return tried, later


def _p_values(
    parts: Sequence[_Part], draws: int, among: int, family: int, seed: int
) -> list[float]:
    """Return the p value of each part, of so many draws at least; one length shares its orders.

    A p above 5 % / `among` is none that matters.
    """
    found = [1.0] * len(parts)
    alike: dict[tuple[int, float], list[int]] = {}
    for number, part in enumerate(parts):
        alike.setdefault((len(part.values), part.times), []).append(number)
    for (_, times), some in alike.items():
        table = np.stack([parts[number].values for number in some], axis=1)
        may = any(parts[number].may(family) for number in some)
        many = max(draws, ceil(_PER_TEST * times * family) if may else 0)
        values = p_values(table, many, seed, ALARMS / (times * among))
        for number, value in zip(some, values.tolist(), strict=True):
            found[number] = value
    return found


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
