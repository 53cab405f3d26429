"""What the chart of a metric over time is drawn from, and the scale of each of its strips."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from harness.report.blocks import Mark

Point = tuple[float, float, float | None, float | None]
"""The number of the run, the mean, and the ends of its interval, where it has one."""


@dataclass(frozen=True)
class Step:
    """A shift that was called: between which runs, the means on its sides, and what is said."""

    first: int
    at: int
    last: int
    before: float
    after: float
    said: str


@dataclass(frozen=True)
class Line:
    """One cell: its values in stretches without a gap, its shifts, and its last value."""

    name: str
    mark: Mark
    stretches: tuple[tuple[Point, ...], ...]
    steps: tuple[Step, ...]
    last: str


@dataclass(frozen=True)
class Lane:
    """One kind of change: the numbers of the runs that were the first after one, and which."""

    label: str
    ticks: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class Picture:
    """All that is drawn; `breaks` are the runs before which nothing may be compared."""

    runs: int
    days: tuple[str, ...]
    lines: tuple[Line, ...]
    lanes: tuple[Lane, ...]
    breaks: tuple[int, ...]


def scales(found: Sequence[Line]) -> list[list[float]]:
    """Return the ticks of each strip: as far apart in all, about the strip's own values."""
    ends = [_ends(line) for line in found]
    widest = max((high - low for low, high in ends), default=0.0)
    size = 10 ** math.floor(math.log10(widest / 2))
    for step in (factor * size for factor in (1, 2, 5, 10)):
        firsts = [math.floor(low / step + 1e-9) for low, _ in ends]
        lasts = [math.ceil(high / step - 1e-9) for _, high in ends]
        many = max(last - first for first, last in zip(firsts, lasts, strict=True))
        if many <= 4:
            break
    scales = []
    for first, last in zip(firsts, lasts, strict=True):
        start = first - (many - last + first) // 2
        start = max(0, start) if first >= 0 else start
        scales.append([round((start + at) * step, 10) for at in range(many + 1)])
    return scales


def _ends(line: Line) -> tuple[float, float]:
    points = (each for some in line.stretches for each in some)
    values = [end for each in points for end in each[1:] if end is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return (low, high) if high - low >= 1e-6 else (low - 0.005, high + 0.005)


def digits(ticks: Sequence[float]) -> int:
    """Return how many digits tell the ticks of a scale apart."""
    gap = min(abs(two - one) for one, two in pairwise(ticks))
    return max(0, min(6, -math.floor(math.log10(gap) + 1e-9)))
