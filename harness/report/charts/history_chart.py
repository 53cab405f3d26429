"""Chart of one metric over the runs: a strip per cell, and the changes between runs below."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from harness.report.charts import theme
from harness.report.charts.history_chart_data import Line, Picture, Point, domains
from harness.report.charts.lettering import fit, text_width
from harness.report.charts.theme import Row

_LEFT_MARGIN, _RIGHT_MARGIN = 66, 6
_HEADER_HEIGHT, _LABELS_HEIGHT, _GAP_HEIGHT, _LANE_HEIGHT = 20, 16, 14, 20
_STRIP_HEIGHTS = (170, 110, 76)
"""Of a strip's plot in pixels, where there are one, two or more."""
_MIN_POINT_GAP = 6
"""Pixels between two points of a line, at least: of more runs each is the mean of several."""
_MAX_DOTS = 32
"""Runs up to which each is a dot."""
_DAY_WIDTH = 130
"""Pixels from one day to the next that is written."""
_MIN_LABEL_WIDTH, _ENOUGH_LABEL_WIDTH = 24, 150
"""Pixels that are too few for any change, and that suffice for each: between, it must fit whole."""


def chart(width: int, picture: Picture) -> Any:
    """Return the chart of a width in pixels."""
    import altair as alt

    inner = width - _LEFT_MARGIN - _RIGHT_MARGIN
    scale = alt.Scale(domain=[-0.5, picture.runs - 0.5], range=[0, inner], nice=False)
    x = alt.X("run:Q", scale=scale, axis=None)
    strips = [
        _strip(x, inner, picture, line, domain)
        for line, domain in zip(picture.lines, domains(picture.lines), strict=True)
    ]
    below = [_days(x, inner, picture), *([_lanes(x, inner, picture)] if picture.lanes else [])]
    return _Stack([_Stack(strips, _GAP_HEIGHT), _Stack(below, 4)], 4)


@dataclass(frozen=True)
class _Stack:
    """Charts one below the other; Altair's own copies hundreds of layers several times over."""

    charts: Sequence[Any]
    spacing: int

    def to_dict(self, **options: Any) -> dict[str, Any]:
        """Return the specification, with the rows of all charts in one place."""
        inner = [chart.to_dict(**options) for chart in self.charts]
        data = {name: rows for chart in inner for name, rows in chart.pop("datasets", {}).items()}
        about = {key: inner[0][key] for key in ("$schema", "config")}
        charts = [{k: v for k, v in chart.items() if k not in about} for chart in inner]
        return {**about, "vconcat": charts, "spacing": self.spacing, "datasets": data}


def _strip(x: Any, inner: int, picture: Picture, line: Line, domain: Sequence[float]) -> Any:
    """Return a cell's means with their intervals, its shifts, its name and its last mean."""
    import altair as alt

    height = _STRIP_HEIGHTS[min(len(picture.lines), len(_STRIP_HEIGHTS)) - 1]
    title = -_HEADER_HEIGHT + 8 - (_LABELS_HEIGHT if line.steps else 0)
    looks = theme.symbol(line.mark)
    up = {
        "scale": alt.Scale(domain=list(domain)),
        "axis": theme.axis(tickCount=4 if height > 100 else 3),
    }
    y, low = alt.Y("mean:Q", **up), alt.Y("low:Q", **up)
    together = math.ceil(picture.runs * _MIN_POINT_GAP / inner)
    rows = [
        {"run": run, "mean": mean, "low": low, "high": high, "stretch": number}
        | {"alone": len(stretch) == 1, "dot": picture.runs <= _MAX_DOTS or len(stretch) == 1}
        for number, stretch in enumerate(line.stretches)
        for run, mean, low, high in _thin(stretch, together)
    ]
    means = theme.data(rows)
    sure = theme.data([row for row in rows if row["low"] is not None])
    stretch = alt.Detail("stretch:N")
    room = inner - 24 - text_width(line.last)
    about = theme.data([{**looks, "name": fit(line.name, room), "last": line.last}])
    layers = [
        theme.data([{"run": run - 0.5} for run in picture.breaks])
        .mark_rule(color=theme.THIRD, strokeDash=[2, 3])
        .encode(x=x),
        sure.mark_area(color=looks["stroke"], opacity=0.18).encode(
            x=x, y=low, y2=alt.Y2("high:Q"), detail=stretch
        ),
        sure.transform_filter("datum.alone")
        .mark_rule(color=looks["stroke"], opacity=0.5)
        .encode(x=x, y=low, y2=alt.Y2("high:Q")),
        means.mark_line(color=looks["stroke"], strokeWidth=1.5, strokeJoin="round").encode(
            x=x, y=y, detail=stretch
        ),
        means.transform_filter("datum.dot")
        .mark_point(size=16, opacity=1, filled=True, color=looks["stroke"])
        .encode(x=x, y=y),
        theme.symbols(about, 5, title),
        theme.words(about, "name", 16, title),
        theme.words(about, "last", inner, title, align="right", fontWeight=600),
    ]
    if line.steps:
        layers += _steps(x, y, inner, picture, line)
    return alt.layer(*(layer for layer in layers if layer.data.values), width=inner, height=height)


def _steps(x: Any, y: Any, inner: int, picture: Picture, line: Line) -> list[Any]:
    """Return the shifts that were called: the mean on either side of each, and by how much."""
    import altair as alt

    steps, sides = [], []
    for step in line.steps:
        before = step.at < picture.runs / 2
        side = {"align": "left", "dx": 5} if before else {"align": "right", "dx": -5}
        steps.append({"run": step.at - 0.5, "said": step.said, **side})
        sides += [
            {"run": step.first - 0.5, "end": step.at - 0.5, "mean": step.before},
            {"run": step.at - 0.5, "end": step.last + 0.5, "mean": step.after},
        ]
    placed = theme.data(steps)
    side = {"align": alt.expr("datum.align"), "dx": alt.expr("datum.dx")}
    return [
        theme.data(sides)
        .mark_rule(color=theme.INK, strokeDash=[4, 3])
        .encode(x=x, x2=alt.X2("end:Q"), y=y),
        placed.mark_rule(color=theme.INK).encode(x=x),
        theme.words(placed, "said", x, 8 - _LABELS_HEIGHT, **side),
    ]


def _days(x: Any, inner: int, picture: Picture) -> Any:
    """Return the days of some of the runs, so many as there is room for."""
    import altair as alt

    last, gaps = picture.runs - 1, max(1, inner // _DAY_WIDTH - 1)
    runs = sorted({round(number * last / gaps) for number in range(gaps + 1)})
    rows = [
        {"run": run, "day": picture.days[run], "align": "left" if run == 0 else "right"}
        if last and run in (0, last)
        else {"run": run, "day": picture.days[run], "align": "center"}
        for run in runs
    ]
    style = {"align": alt.expr("datum.align"), "color": theme.THIRD}
    days = theme.words(theme.data(rows), "day", x, 12, **style)
    line = theme.data(rows[:1]).mark_rule().encode(y=alt.YValue(0))
    return alt.layer(line, days, width=inner, height=_LANE_HEIGHT)


def _lanes(x: Any, inner: int, picture: Picture) -> Any:
    """Return a row of marks for each kind of change, with what changed where there is room."""
    import altair as alt

    y = alt.Y("row:O", axis=None)
    ticks = theme.data(
        [
            {"row": row, **tick}
            for row, lane in enumerate(picture.lanes)
            for tick in _label_ticks(lane.ticks, inner / picture.runs, inner)
        ]
    )
    names = theme.data([{"row": row, "name": n.label} for row, n in enumerate(picture.lanes)])
    side = {"align": alt.expr("datum.align"), "dx": alt.expr("datum.dx")}
    layers = [
        ticks.mark_tick(size=10, thickness=1, color=theme.SECOND, opacity=1).encode(x=x, y=y),
        theme.words(ticks, "label", x, y, color=theme.SECOND, **side),
        theme.words(names, "name", -8, y, align="right", color=theme.THIRD),
    ]
    return alt.layer(*layers, width=inner, height=alt.Step(_LANE_HEIGHT))


def _label_ticks(ticks: Sequence[tuple[int, str]], step: float, inner: float) -> Iterator[Row]:
    """Yield the marks of a lane; a label stands behind its mark or before it, or there is none."""
    places = [(run + 0.5) * step for run, _ in ticks]
    occupied = 0.0
    for (run, text), place, end in zip(ticks, places, [*places[1:], inner], strict=True):
        behind, before = end - place - 10, place - occupied - 10
        room, wide = max(behind, before), text_width(text)
        after = behind >= min(wide, before)
        occupied = place + 5
        label = ""
        if room >= max(_MIN_LABEL_WIDTH, min(wide, _ENOUGH_LABEL_WIDTH)):
            label = fit(text, behind if after else before)
            occupied = place + 10 + text_width(label) if after else occupied
        side = {"align": "left", "dx": 5} if after else {"align": "right", "dx": -5}
        yield {"run": run, "label": label, **side}


def _thin(stretch: Sequence[Point], together: int) -> Iterator[Point]:
    for start in range(0, len(stretch), together):
        runs, means, lows, highs = zip(*stretch[start : start + together], strict=True)
        yield fmean(runs), fmean(means), _mean(lows), _mean(highs)


def _mean(values: Sequence[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return fmean(known_values) if known_values else None
