"""One metric over time: a strip for each cell, and beneath them what changed between the runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from harness import numbers
from harness.report.charts import colours
from harness.report.charts.frame import (
    SIZE,
    Margins,
    Row,
    coloured,
    framed,
    pixels,
    plotted,
    symbol,
    symbols,
)
from harness.report.charts.lettering import fitted, measured
from harness.report.trendpicture import Line, Picture, Point, Step, digits, scales

_LEFT, _RIGHT = 66, 6
_TITLE, _LABELS, _GAP = 20, 16, 14
_DAYS, _LANE = 26, 20
_HEIGHTS = (170, 110, 76)
"""Of a strip's plot in pixels, where there are one, two or more."""
_APART = 6
"""Pixels between two points of a line, at least: of more runs each is the mean of several."""
_DOTS = 32
"""Runs up to which each is a dot."""
_SHORT, _LEAST = 24, 150
"""Pixels that are too few for any change, and that suffice for each: between, it must fit whole."""
_CLOSE = 5
"""Pixels between two marks of a lane; those closer together are drawn as one."""

Spot = tuple[float, float]
"""Across and down, in pixels."""


def chart(width: int, picture: Picture) -> Any:
    """Return the chart of a width in pixels."""
    drawn = _Drawn(width, picture)
    drawn.strips()
    drawn.days()
    drawn.lanes()
    return framed([*drawn.layers()], width, drawn.bottom + 4, Margins(_LEFT, _RIGHT, 0, 4))


class _Drawn:
    """Gathers what is drawn alike, as each layer of a chart costs time."""

    def __init__(self, width: int, picture: Picture) -> None:
        self.picture = picture
        self.inner = width - _LEFT - _RIGHT
        self.high = _HEIGHTS[min(len(picture.lines), len(_HEIGHTS)) - 1]
        self.above = _TITLE + (_LABELS if any(each.steps for each in picture.lines) else 0)
        self.tops = [
            self.above + at * (self.above + self.high + _GAP) for at in range(len(picture.lines))
        ]
        self.floor = self.tops[-1] + self.high
        self.bottom = self.floor + _DAYS + _LANE * len(picture.lanes)
        self.scales = dict(zip(self.tops, scales(picture.lines), strict=True))
        self.together = math.ceil(picture.runs * _APART / self.inner)
        self.number = 0
        self.bands: list[Row] = []
        self.points: list[Row] = []
        self.keys: list[Row] = []
        self.rules: dict[str, list[Row]] = {"below": [], "dotted": [], "dashed": [], "above": []}
        self.texts: dict[str, list[Row]] = {"left": [], "center": [], "right": [], "bold": []}

    def x(self, run: float) -> float:
        return round((run + 0.5) / self.picture.runs * self.inner, 1)

    def y(self, top: int, value: float) -> float:
        low, *_, high = self.scales[top]
        return round(top + self.high * (high - value) / (high - low), 1)

    def rule(self, kind: str, one: Spot, other: Spot, colour: str = colours.INK) -> None:
        ends = {"x": one[0], "y": one[1], "x2": other[0], "y2": other[1]}
        self.rules[kind].append({**ends, "stroke": colour})

    def text(self, kind: str, spot: Spot, text: str, colour: str = colours.INK) -> None:
        self.texts[kind].append({"x": spot[0], "y": spot[1], "text": text, "fill": colour})

    def strips(self) -> None:
        for top, line in zip(self.tops, self.picture.lines, strict=True):
            ticks = self.scales[top]
            for tick in ticks:
                y = self.y(top, tick)
                self.rule("below", (0, y), (self.inner, y), colours.LINE)
                self.text("right", (-8, y), numbers.score(tick, digits(ticks)), colours.THIRD)
            for run in self.picture.breaks:
                x = self.x(run - 0.5)
                self.rule("dotted", (x, top), (x, top + self.high), colours.THIRD)
            title = top - self.above + 8
            self.keys.append({"x": 5, "y": title, **symbol(line.mark)})
            room = self.inner - 24 - measured(line.last, bold=True)
            self.text("left", (16, title), fitted(line.name, room))
            self.text("bold", (self.inner, title), line.last)
            self.strip(top, line)
            for step in line.steps:
                self.step(top, step)

    def strip(self, top: int, line: Line) -> None:
        hue = colours.hue(line.mark)
        for number, stretch in enumerate(line.stretches):
            band: list[Row] = []
            for run, mean, low, high in _thinned(stretch, self.together):
                x, group = self.x(run), {"group": f"{top} {number}", "fill": hue, "stroke": hue}
                alone = len(stretch) == 1
                self.points.append({"x": x, "y": self.y(top, mean), "alone": alone, **group})
                if low is not None and high is not None:
                    ends = {"low": self.y(top, low), "high": self.y(top, high)}
                    band.append({"x": x, **ends, "fill": hue})
                else:
                    self.band(band)
                    band = []
            self.band(band)

    def band(self, rows: Sequence[Row]) -> None:
        if len(rows) == 1:
            x, hue = rows[0]["x"], rows[0]["fill"]
            self.rule("below", (x, rows[0]["low"]), (x, rows[0]["high"]), hue)
        elif rows:
            self.bands += [{**row, "group": self.number} for row in rows]
            self.number += 1

    def step(self, top: int, step: Step) -> None:
        x, first, last = (self.x(run) for run in (step.at - 0.5, step.first - 0.5, step.last + 0.5))
        self.rule("above", (x, top - _LABELS + 2), (x, top + self.high))
        for one, other, value in ((first, x, step.before), (x, last, step.after)):
            self.rule("dashed", (one, self.y(top, value)), (other, self.y(top, value)))
        side, away = ("left", 5) if x < self.inner / 2 else ("right", -5)
        self.text(side, (x + away, top - _LABELS + 8), step.said)

    def days(self) -> None:
        self.rule("below", (0, self.floor), (self.inner, self.floor), colours.STRONG)
        many = max(2, self.inner // 130)
        taken = -math.inf
        for run in sorted({round(at * (self.picture.runs - 1) / (many - 1)) for at in range(many)}):
            half = measured(self.picture.days[run]) / 2
            x = max(half, min(self.x(run), self.inner - half))
            if x - half > taken + 8:
                spot = (x, self.floor + 14.0)
                self.text("center", spot, self.picture.days[run], colours.THIRD)
                taken = x + half

    def lanes(self) -> None:
        for number, lane in enumerate(self.picture.lanes):
            y = self.floor + _DAYS + _LANE * number + 8
            self.text("right", (-8, y), lane.label, colours.THIRD)
            ticks = list(self.apart(lane.ticks))
            ends = [*(x for x, _ in ticks[1:]), float(self.inner)]
            taken = 0.0
            for (x, text), end in zip(ticks, ends, strict=True):
                self.rule("below", (x, y - 5), (x, y + 5), colours.SECOND)
                right, left = end - x - 10, x - taken - 10
                taken = x + 5
                if max(right, left) < _SHORT:
                    continue
                wide = measured(text)
                after = right >= min(wide, left)
                if max(right, left) >= min(wide, _LEAST):
                    short = fitted(text, right if after else left)
                    side, away = ("left", 5) if after else ("right", -5)
                    self.text(side, (x + away, y), short, colours.SECOND)
                    taken = x + 10 + measured(short) if after else taken

    def apart(self, ticks: Sequence[tuple[int, str]]) -> Iterator[tuple[float, str]]:
        """Yield the ticks that can be told from the one before, and where they stand."""
        last = -math.inf
        for run, text in ticks:
            x = self.x(run)
            if x - last >= _CLOSE:
                yield x, text
                last = x

    def layers(self) -> Iterator[Any]:
        import altair as alt

        yield self._ruled("below")
        yield self._ruled("dotted", [2, 3])
        drawn, group = plotted(self.points), alt.Detail("group:N")
        low, high = alt.Y("low:Q", scale=None, axis=None), alt.Y2("high")
        area = plotted(self.bands).mark_area(opacity=0.18)
        band = area.encode(**{**pixels(), "y": low}, y2=high)
        yield band.encode(detail=group, **coloured("fill"))
        stroke = drawn.mark_line(strokeWidth=1.5, strokeJoin="round")
        yield stroke.encode(**pixels(), detail=group, **coloured("stroke"))
        few = self.picture.runs <= _DOTS
        dots = plotted([row for row in self.points if few or row["alone"]])
        yield dots.mark_point(size=16, opacity=1).encode(**pixels(), **coloured("fill", "stroke"))
        yield symbols(self.keys)
        yield self._ruled("dashed", [4, 3])
        yield self._ruled("above")
        for kind, rows in self.texts.items():
            align, weight = ("right", 600) if kind == "bold" else (kind, 400)
            mark = plotted(rows).mark_text(
                align=align, baseline="middle", fontSize=SIZE, fontWeight=weight
            )
            yield mark.encode(**pixels(), text=alt.Text("text:N"), **coloured("fill"))

    def _ruled(self, kind: str, dash: Sequence[int] = (1, 0)) -> Any:
        import altair as alt

        mark = plotted(self.rules[kind]).mark_rule(strokeWidth=1, strokeDash=list(dash))
        return mark.encode(**pixels(), x2=alt.X2("x2"), y2=alt.Y2("y2"), **coloured("stroke"))


def _thinned(stretch: Sequence[Point], together: int) -> Iterator[Point]:
    for start in range(0, len(stretch), together):
        runs, means, lows, highs = zip(*stretch[start : start + together], strict=True)
        yield fmean(runs), fmean(means), _mean(lows), _mean(highs)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
