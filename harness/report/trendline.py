"""One metric over time: a strip for each cell, and beneath them what changed between the runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from harness import numbers
from harness.report.blocks import Mark
from harness.report.charts import colours
from harness.report.charts.frame import (
    Margins,
    Row,
    coloured,
    framed,
    lines,
    pixels,
    plotted,
    symbol,
    symbols,
    words,
)
from harness.report.charts.lettering import fitted, measured

_LEFT, _RIGHT = 66, 6
_TITLE, _LABELS, _GAP = 20, 16, 14
_DAYS, _LANE = 26, 20
_HEIGHTS = (170, 110, 76)
"""Of a strip's plot in pixels, where there are one, two or more."""
_MOST = 240
"""Points of a line; of more runs each point is the mean of several."""
_DOTS = 32
"""Runs up to which each is a dot."""
_LEAST = 56
"""Pixels that the name of a change needs."""

Point = tuple[float, float, float, float]
"""The number of the run, the mean, and the ends of its interval."""


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

    @property
    def together(self) -> int:
        """How many runs one point of a line stands for."""
        return math.ceil(self.runs / _MOST)


def chart(width: int, picture: Picture) -> Any:
    """Return the chart of a width in pixels."""
    drawn = _Drawn(width, picture)
    layers = [*drawn.grid(), *drawn.values(), *drawn.shifts(), *drawn.axis()]
    return framed(layers, width, round(drawn.bottom) + 4, Margins(_LEFT, _RIGHT, 0, 4))


class _Drawn:
    def __init__(self, width: int, picture: Picture) -> None:
        self.picture = picture
        self.inner = width - _LEFT - _RIGHT
        self.high = _HEIGHTS[min(len(picture.lines), len(_HEIGHTS)) - 1]
        self.above = _TITLE + (_LABELS if any(each.steps for each in picture.lines) else 0)
        self.tops = [
            self.above + at * (self.above + self.high + _GAP) for at in range(len(picture.lines))
        ]
        self.floor = self.tops[-1] + self.high if self.tops else 0
        self.bottom = self.floor + _DAYS + _LANE * len(picture.lanes)
        self.scales = dict(zip(self.tops, _scales(picture.lines), strict=True))

    def x(self, run: float) -> float:
        return round((run + 0.5) / self.picture.runs * self.inner, 1)

    def y(self, top: int, value: float) -> float:
        low, *_, high = self.scales[top]
        return round(top + self.high * (high - value) / (high - low), 1)

    def grid(self) -> Iterator[Any]:
        rules: list[Row] = []
        labels: list[Row] = []
        for top, ticks in self.scales.items():
            digits = _digits(ticks)
            for tick in ticks:
                y = self.y(top, tick)
                rules.append({"x": 0, "y": y, "x2": self.inner, "y2": y})
                labels.append({"x": -8, "y": y, "text": numbers.score(tick, digits)})
        yield lines(rules, color=colours.LINE)
        yield words(labels, "right", colour=colours.THIRD)
        breaks = [self.x(run - 0.5) for run in self.picture.breaks]
        spans = [(top, top + self.high) for top in self.tops]
        cuts = [{"x": x, "y": one, "x2": x, "y2": two} for x in breaks for one, two in spans]
        yield lines(cuts, color=colours.THIRD, strokeDash=[2, 3])

    def values(self) -> Iterator[Any]:
        import altair as alt

        rows: list[Row] = []
        names: list[Row] = []
        last: list[Row] = []
        keys: list[Row] = []
        for top, line in zip(self.tops, self.picture.lines, strict=True):
            title = top - self.above + 8
            keys.append({"x": 5, "y": title, **symbol(line.mark)})
            room = self.inner - 24 - measured(line.last, bold=True)
            names.append({"x": 16, "y": title, "text": fitted(line.name, room)})
            last.append({"x": self.inner, "y": title, "text": line.last})
            rows += self._rows(top, line)
        drawn, group = plotted(rows), alt.Detail("group:N")
        low, high = alt.Y("low:Q", scale=None, axis=None), alt.Y2("high")
        band = drawn.mark_area(opacity=0.18).encode(**{**pixels(), "y": low}, y2=high)
        yield band.encode(detail=group, **coloured("fill"))
        line_ = drawn.mark_line(strokeWidth=1.5, strokeJoin="round")
        yield line_.encode(**pixels(), detail=group, **coloured("stroke"))
        few = self.picture.runs <= _DOTS
        dots = plotted([row for row in rows if few or row["alone"]])
        yield dots.mark_point(size=16, opacity=1).encode(**pixels(), **coloured("fill", "stroke"))
        yield symbols(keys)
        yield words(names)
        yield words(last, "right", bold=True)

    def _rows(self, top: int, line: Line) -> Iterator[Row]:
        hue = colours.hue(line.mark)
        for number, stretch in enumerate(line.stretches):
            for run, *values in _thinned(stretch, self.picture.together):
                mean, low, high = (self.y(top, value) for value in values)
                place = {"x": self.x(run), "y": mean, "low": low, "high": high}
                group = {"group": f"{top} {number}", "alone": len(stretch) == 1}
                yield {**place, **group, "fill": hue, "stroke": hue}

    def shifts(self) -> Iterator[Any]:
        means: list[Row] = []
        rules: list[Row] = []
        said: dict[str, list[Row]] = {"left": [], "right": []}
        for top, line in zip(self.tops, self.picture.lines, strict=True):
            for step in line.steps:
                x = self.x(step.at - 0.5)
                rules.append({"x": x, "y": top - _LABELS + 2, "x2": x, "y2": top + self.high})
                for one, two, value in (
                    (self.x(step.first - 0.5), x, step.before),
                    (x, self.x(step.last + 0.5), step.after),
                ):
                    y = self.y(top, value)
                    means.append({"x": one, "y": y, "x2": two, "y2": y})
                side, away = ("left", 5) if x < self.inner / 2 else ("right", -5)
                said[side].append({"x": x + away, "y": top - _LABELS + 8, "text": step.said})
        yield lines(means, color=colours.INK, strokeDash=[4, 3])
        yield lines(rules, color=colours.INK)
        for side, rows in said.items():
            yield words(rows, side)

    def axis(self) -> Iterator[Any]:
        base = [{"x": 0, "y": self.floor, "x2": self.inner, "y2": self.floor}]
        yield lines(base)
        many = max(2, self.inner // 130)
        runs = sorted({round(at * (self.picture.runs - 1) / (many - 1)) for at in range(many)})
        days: list[Row] = []
        for run in runs:
            text = self.picture.days[run]
            half = measured(text) / 2
            x = max(half, min(self.x(run), self.inner - half))
            if not days or x - half > days[-1]["x"] + days[-1]["half"] + 8:
                days.append({"x": x, "y": self.floor + 14, "text": text, "half": half})
        yield words(days, "center", colour=colours.THIRD)
        labels: list[Row] = []
        marks: list[Row] = []
        said: dict[str, list[Row]] = {"left": [], "right": []}
        for number, lane in enumerate(self.picture.lanes):
            y = self.floor + _DAYS + _LANE * number + 8
            labels.append({"x": -8, "y": y, "text": lane.label})
            taken = 0.0
            ends = [*(self.x(run) for run, _ in lane.ticks[1:]), float(self.inner)]
            for (run, text), end in zip(lane.ticks, ends, strict=True):
                x = self.x(run)
                marks.append({"x": x, "y": y - 5, "x2": x, "y2": y + 5})
                right, left = end - x - 10, x - taken - 10
                room = right if right >= min(measured(text), left) else left
                taken = x + 5
                if text and room >= _LEAST:
                    short = fitted(text, room)
                    after = room == right
                    said["left" if after else "right"].append(
                        {"x": x + 5 if after else x - 5, "y": y, "text": short}
                    )
                    taken = x + 10 + measured(short) if after else taken
        yield words(labels, "right", colour=colours.THIRD)
        yield lines(marks, color=colours.SECOND, strokeWidth=2)
        for side, some in said.items():
            yield words(some, side, colour=colours.SECOND)


def _thinned(stretch: Sequence[Point], together: int) -> Iterator[Point]:
    for start in range(0, len(stretch), together):
        some = stretch[start : start + together]
        run, mean, low, high = (sum(column) / len(some) for column in zip(*some, strict=True))
        yield run, mean, low, high


def _scales(found: Sequence[Line]) -> list[list[float]]:
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
    values = [end for some in line.stretches for each in some for end in each[1:]]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    return (low, high) if high - low >= 1e-6 else (low - 0.005, high + 0.005)


def _digits(ticks: Sequence[float]) -> int:
    gap = min(abs(two - one) for one, two in pairwise(ticks))
    return max(0, min(6, -math.floor(math.log10(gap) + 1e-9)))
