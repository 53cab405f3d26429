"""Charts of values with intervals: a row has a name, a symbol on its interval, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.charts import svg, theme
from harness.report.charts.lettering import fit, text_width
from harness.report.charts.theme import Row
from harness.text import numbers

MAX_ROWS = 24
"""Rows that are drawn; the table behind a chart has all."""
_NAMES_WIDTH = 204


@dataclass(frozen=True)
class PlottedInterval:
    """A value, and the ends of its 95 % interval where it has one."""

    name: str
    value: float
    low: float | None
    high: float | None


def row(interval: PlottedInterval, looks: Row, digits: int = 2, signed: bool = False) -> Row:
    """Return the row of a value with its interval.

    Args:
        interval: The value.
        looks: Shape, fill and stroke of its symbol.
        digits: How many digits are written.
        signed: Whether it is a difference or a correlation, which is written with its sign.
    """
    low, high, value = interval.low, interval.high, interval.value
    written = numbers.difference if signed else numbers.score
    between = numbers.between if signed else numbers.interval
    return {
        **looks,
        "name": interval.name,
        "value": value,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "figure": written(value, digits),
        "interval": "" if low is None else between(low, high, digits),
    }


def chart(
    width: int,
    rows: Sequence[Row],
    scale: Mapping[str, Any],
    reference: float | None = None,
    format: str = ".2~f",
) -> Any:
    """Return the chart of rows as `row` makes them.

    Args:
        width: In pixels; where it is narrow, names stand above the intervals.
        rows: In the order that they are drawn in.
        scale: Options of Vega-Lite's scale of the values, such as its `domain`.
        reference: A value that a rule marks; None: none.
        format: How the axis writes values, in the language of d3.
    """
    import altair as alt

    wide = width >= svg.WIDE
    figures = width - 8 - max(text_width(row["interval"]) for row in rows)
    room = figures - 16 - max(text_width(row["figure"]) for row in rows)
    ends, names = ([_NAMES_WIDTH, room], _NAMES_WIDTH - 14) if wide else ([16, width - 16], room)
    marks, letters = (0, 0) if wide else (10, -9)
    base = theme.data(
        [{**row, "row": n, "name": fit(row["name"], names)} for n, row in enumerate(rows)]
    )
    axis = theme.axis(grid=wide, format=format)
    x = alt.X("low:Q", scale=alt.Scale(range=ends, **scale), axis=axis)
    y = alt.Y("row:O", axis=None)
    pale = {"align": "right", "fontWeight": 400, "color": theme.SECOND}
    layers = [
        base.mark_rule(strokeWidth=2, yOffset=marks).encode(
            x=x, x2=alt.X2("high:Q"), y=y, **theme.literal("stroke")
        ),
        theme.symbols(base, alt.X("value:Q"), y, 62, yOffset=marks),
        theme.words(base, "name", alt.value(0), y, dy=letters),
        theme.words(base, "figure", alt.value(figures), y, dy=letters, align="right"),
        theme.words(base, "interval", alt.value(width), y, dy=letters, **pale),
    ]
    if reference is not None:
        tick = {"thickness": 1, "size": 26 if wide else 16, "yOffset": marks, "opacity": 1}
        rule = base.mark_tick(color=theme.THIRD, **tick).encode(x=alt.XDatum(reference), y=y)
        layers.insert(0, rule)
    return alt.layer(*layers, width=width, height=alt.Step(26 if wide else 44))


def plot(rows: Sequence[PlottedInterval], metric: str) -> Any:
    """Return an Altair chart for notebooks: a row each, in order."""
    import altair as alt

    values = [{"name": x.name, "mean": x.value, "low": x.low, "high": x.high} for x in rows]
    base = alt.Chart(alt.Data(values=values)).encode(y=alt.Y("name:N", sort=None, title=None))
    title = f"{metric}, with 95 % intervals"
    interval = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    return interval + base.mark_point(filled=True, size=60, opacity=1).encode(
        x="mean:Q", tooltip=["name:N", "mean:Q", "low:Q", "high:Q"]
    )
