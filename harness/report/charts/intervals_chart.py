"""Chart of values with intervals: a row has a name, a symbol with its interval, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.charts import svg, theme
from harness.report.charts.lettering import fit, text_width
from harness.report.charts.theme import Row
from harness.text import numbers

MAX_ROWS = 24
"""Rows that are drawn; the table behind a chart has all."""
_NAMES_WIDTH = 204


def row(
    name: str,
    ends: tuple[float, float | None, float | None],
    looks: Mapping[str, Any],
    digits: int = 2,
    signed: bool = False,
) -> Row:
    """Return the row of a value with its interval.

    Args:
        name: Of the row.
        ends: The value, and the ends of its interval or None.
        looks: Shape, fill and stroke of its symbol.
        digits: How many digits are written.
        signed: Whether it is a difference or a correlation, which is written with its sign.
    """
    value, low, high = ends
    written = numbers.difference if signed else numbers.score
    between = numbers.between if signed else numbers.interval
    return {
        **looks,
        "name": name,
        "value": value,
        "low": low,
        "high": high,
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
    interval_width, figure_width = (
        max(text_width(row[column]) for row in rows) for column in ("interval", "figure")
    )
    figures = width - interval_width - 8
    ends = [_NAMES_WIDTH, figures - figure_width - 16] if wide else [16, width - 16]
    room = _NAMES_WIDTH - 14 if wide else figures - figure_width - 8
    base = theme.data(
        [
            {
                **row,
                "row": number,
                "name": fit(row["name"], room),
                "low": row["value"] if row["low"] is None else row["low"],
                "high": row["value"] if row["high"] is None else row["high"],
            }
            for number, row in enumerate(rows)
        ]
    )
    y = alt.Y("row:O", axis=None)
    x = alt.X(
        "low:Q", scale=alt.Scale(range=ends, **scale), axis=theme.axis(grid=wide, format=format)
    )
    marks, letters = (0, 0) if wide else (10, -9)
    layers = []
    if reference is not None:
        rule = base.mark_tick(
            thickness=1, size=26 if wide else 16, color=theme.THIRD, yOffset=marks, opacity=1
        )
        layers.append(rule.encode(x=alt.XDatum(reference), y=y))
    interval = base.mark_rule(strokeWidth=2, yOffset=marks).encode(
        x=x, x2=alt.X2("high:Q"), y=y, **theme.literal("stroke")
    )
    layers += [
        interval,
        theme.symbols(base, alt.X("value:Q"), y, 62, yOffset=marks),
        theme.words(base, "name", 0, y, dy=letters),
        theme.words(base, "figure", figures, y, dy=letters, align="right"),
        theme.words(
            base,
            "interval",
            width,
            y,
            dy=letters,
            align="right",
            fontWeight=400,
            color=theme.SECOND,
        ),
    ]
    return alt.layer(*layers, width=width, height=alt.Step(26 if wide else 44))
