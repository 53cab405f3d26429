"""Rows of dots with intervals: a name, what is drawn, and the figures that are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.charts import colours, svg
from harness.report.charts.frame import Margins, axis, coloured, framed, lines, plotted, words
from harness.report.charts.lettering import fitted, measured

MOST = 24
"""Rows that are drawn; the table behind a chart has all."""
_NAMES = 204
_STEP = 26
_TALL = 44
"""Height of a row where the name stands above its interval."""


@dataclass(frozen=True)
class Row:
    """One interval; `symbol` is what is drawn at its middle: shape, fill and stroke."""

    name: str
    at: float
    low: float | None
    high: float | None
    symbol: tuple[tuple[str, str], ...]
    written: str
    interval: str
    bold: bool = False


@dataclass(frozen=True)
class Scale:
    """The ends of the axis, its ticks, and how Vega writes them."""

    low: float
    high: float
    ticks: tuple[float, ...]
    format: str


def chart(
    width: int, rows: Sequence[Row], scale: Scale, reference: float | None, label: str = ""
) -> Any:
    """Return the chart; `reference` is a value that a rule marks, called `label`."""
    import altair as alt

    wide = width >= svg.WIDE
    step, down = (_STEP, 0) if wide else (_TALL, 12)
    widest = max(measured(each.interval) for each in rows)
    figures = 26 + widest + max(measured(each.written, bold=True) for each in rows)
    top = 20 if label else 6
    around = Margins(_NAMES, round(figures), top, 26) if wide else Margins(16, 16, top, 26)
    inner, plot = width - around.left - around.right, step * len(rows)
    domain = alt.Scale(domain=[scale.low, scale.high], nice=False)
    ticks = axis(scale.ticks, grid=wide, format=scale.format)
    places = [step * (at + 0.5) for at in range(len(rows))]
    data = [
        {
            "at": each.at,
            "low": each.at if each.low is None else each.low,
            "high": each.at if each.high is None else each.high,
            "y": place + down,
            **dict(each.symbol),
        }
        for each, place in zip(rows, places, strict=True)
    ]
    x, low = alt.X("at:Q", scale=domain, axis=ticks), alt.X("low:Q", scale=domain)
    y = alt.Y("y:Q", scale=None, axis=None)
    drawn = plotted(data)
    layers: list[Any] = []
    if reference is not None:
        at = inner * (reference - scale.low) / (scale.high - scale.low)
        # A rule through all of a narrow chart would run through the names.
        spans = [(0.0, float(plot))] if wide else [(place + 4, place + 20) for place in places]
        rules = [{"x": at, "y": start, "x2": at, "y2": end} for start, end in spans]
        style = {"strokeDash": [2, 3]} if label else {}
        layers.append(lines(rules, color=colours.THIRD, **style))
        note = [{"x": max(26.0, min(at, inner - 26)), "y": -9, "text": label}]
        layers.append(words(note if label else [], "center", colour=colours.THIRD))
    layers.append(
        drawn.mark_rule(strokeWidth=2).encode(x=low, x2=alt.X2("high"), y=y, **coloured("stroke"))
    )
    dots = drawn.mark_point(size=62, strokeWidth=2, opacity=1)
    layers.append(dots.encode(x=x, y=y, **coloured("shape", "fill", "stroke")))
    for bold in (False, True):
        some = [(e, p) for e, p in zip(rows, places, strict=True) if e.bold == bold]
        layers += _words(some, around, inner, widest, bold)
    return framed(layers, width, plot + around.top + around.bottom, around)


def _words(
    rows: Sequence[tuple[Row, float]], around: Margins, inner: int, widest: float, bold: bool
) -> list[Any]:
    """Return the words of rows: figures stand one beneath another, so all means end alike."""
    wide = around.left == _NAMES
    names, means, spans = [], [], []
    for each, place in rows:
        y = place if wide else place - 9
        right = inner + around.right
        spans.append({"x": right, "y": y, "text": each.interval})
        means.append({"x": right - widest - 10, "y": y, "text": each.written})
        room = around.left - 14.0 if wide else right - widest - measured(each.written) - 20
        names.append({"x": -around.left, "y": y, "text": fitted(each.name, room, bold=bold)})
    return [
        words(names, bold=bold),
        words(means, "right", bold=bold),
        words(spans, "right", colour=colours.SECOND),
    ]
