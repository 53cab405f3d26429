"""Charts of values with intervals: a row has a name, a symbol on its interval, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.charts import theme
from harness.report.charts.theme import Row
from harness.text import numbers


def row(
    name: str,
    value: float,
    low: float | None,
    high: float | None,
    looks: Row,
    digits: int = 2,
    signed: bool = False,
) -> Row:
    """Return the row of a value with its 95 % interval, where it has one.

    Args:
        name: What stands left of it.
        value: The value.
        low: Where the interval begins; None: it has none.
        high: Where it ends.
        looks: Shape, fill and stroke of its symbol.
        digits: How many digits are written.
        signed: Whether it is a difference or a correlation, which is written with its sign.
    """
    written = numbers.difference if signed else numbers.score
    between = numbers.between if signed else numbers.interval
    figures = written(value, digits)
    return {
        **looks,
        "name": name,
        "value": value,
        "low": value if low is None else low,
        "high": value if high is None else high,
        "figures": figures if low is None else f"{figures} ({between(low, high, digits)})",
    }


def spec(
    width: int,
    rows: Sequence[Row],
    scale: Mapping[str, Any],
    reference: float | None = None,
    format: str = ".2~f",
) -> Any:
    """Return the chart of rows as `row` makes them, in their order.

    Args:
        width: In pixels; where it is narrow, names stand above the intervals.
        rows: In the order that they are drawn in.
        scale: Options of Vega-Lite's scale of the values, such as its `domain`.
        reference: A value that a rule marks; None: none.
        format: How the axis writes values, in the language of d3.
    """
    import altair as alt

    wide = width >= theme.WIDE
    base = theme.data([{**row, "row": number} for number, row in enumerate(rows)])
    figures = [row["figures"] for row in rows]
    right = theme.row_axis(figures, width, orient="right", labelColor=theme.SECOND)
    x = alt.X("low:Q", scale=alt.Scale(**scale), axis=theme.axis(grid=wide, format=format))
    names, written = (alt.Y("row:O", axis=axis) for axis in (theme.names(rows, width), right))
    place = {"yOffset": 0 if wide else 9}
    spans = base.mark_rule(strokeWidth=2, **place)
    layers = [
        spans.encode(x=x, x2=alt.X2("high:Q"), y=names, **theme.literal("stroke")),
        theme.symbols(base, alt.X("value:Q"), written, **place),
    ]
    if reference is not None:
        tick = base.mark_tick(color=theme.THIRD, thickness=1, size=18, opacity=1, **place)
        layers.append(tick.encode(x=alt.XDatum(reference), y=alt.Y("row:O", axis=None)))
    height = (26 if wide else 44) * len(rows)
    return theme.layers(*layers, width=width, height=height).resolve_scale(y="independent")


def plot(rows: Sequence[Row], metric: str) -> Any:
    """Return an Altair chart for notebooks: rows of `name`, `mean`, `low` and `high`."""
    import altair as alt

    base = alt.Chart(alt.Data(values=[*rows])).encode(y=alt.Y("name:N", sort=None, title=None))
    title = f"{metric}, with 95 % intervals"
    interval = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    return interval + base.mark_point(filled=True, size=60, opacity=1).encode(
        x="mean:Q", tooltip=["name:N", "mean:Q", "low:Q", "high:Q"]
    )
