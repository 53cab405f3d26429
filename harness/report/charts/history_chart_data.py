"""Data that the chart of a metric over the runs is drawn from, and the scale of each strip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.document import Mark

Point = tuple[float, float, float | None, float | None]
"""The number of the run, the mean, and the ends of its interval, where it has one."""


@dataclass(frozen=True)
class CalledShift:
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
    steps: tuple[CalledShift, ...]
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


def domains(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the ends of each strip's scale: as far apart in all, about the strip's own values."""
    ends = [_ends(line) for line in lines]
    half = 0.55 * max((high - low for low, high in ends), default=1.0)
    middles = [(low + high) / 2 for low, high in ends]
    # Where there is nothing below 0, neither does the scale reach there.
    middles = [
        max(half, mid) if low >= 0 else mid for mid, (low, _) in zip(middles, ends, strict=True)
    ]
    return [(middle - half, middle + half) for middle in middles]


def _ends(line: Line) -> tuple[float, float]:
    points = (point for stretch in line.stretches for point in stretch)
    values = [end for point in points for end in point[1:] if end is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return (low, high) if high - low >= 1e-6 else (low - 0.005, high + 0.005)
