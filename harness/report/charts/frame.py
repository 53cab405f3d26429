"""What all charts are drawn with: axes, symbols and words in one style, at fixed places.

Axes and marks are placed by their scales; words that must not touch are placed by the pixel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.report.blocks import Mark
from harness.report.charts import colours, lettering

Row = Mapping[str, Any]
SIZE = 12
"""Of letters, in pixels; a chart for phones is shown a little smaller than it is drawn."""


@dataclass(frozen=True)
class Margins:
    """The room around the part of a chart that has scales, in pixels."""

    left: int = 8
    right: int = 8
    top: int = 8
    bottom: int = 8


def framed(layers: Sequence[Any], width: int, height: int, around: Margins) -> Any:
    """Return layers as one chart that is `width` × `height` pixels in all."""
    import altair as alt

    padding = {"left": around.left, "right": around.right}
    padding |= {"top": around.top, "bottom": around.bottom}
    # All at once, because whatever is set later has Altair copy the whole chart.
    return alt.layer(
        *(each for each in layers if each.data.values),
        width=width - around.left - around.right,
        height=height - around.top - around.bottom,
        padding=padding,
        autosize={"type": "none"},
        config={"aria": False, "font": lettering.FONT, "view": {"stroke": None}},
    )


def plotted(rows: Sequence[Row]) -> Any:
    """Return an empty chart of some data."""
    import altair as alt

    # Altair copies lists, row by row and many times over; of a tuple it keeps the one there is.
    values: Any = tuple(rows)
    return alt.Chart(alt.InlineData(values))


def axis(values: Sequence[float], title: str | None = None, grid: bool = True, **more: Any) -> Any:
    """Return an axis with few ticks; `grid`: hairlines across the chart, and no line of its own."""
    import altair as alt

    return alt.Axis(
        values=list(values),
        labelExpr="datum.value == 0 ? '0' : datum.label",
        title=title,
        grid=grid,
        gridColor=colours.LINE,
        domain=not grid,
        domainColor=colours.STRONG,
        ticks=not grid,
        tickColor=colours.STRONG,
        tickSize=4,
        labelFontSize=SIZE,
        labelColor=colours.THIRD,
        labelPadding=6,
        labelOverlap=False,
        labelFlush=False,
        titleFontSize=SIZE,
        titleFontWeight=400,
        titleColor=colours.THIRD,
        titleAnchor="end",
        titlePadding=6,
        **{"format": ".3~f", **more},
    )


def words(
    rows: Sequence[Row], align: str = "left", bold: bool = False, colour: str = colours.INK
) -> Any:
    """Return a layer of texts: of each row `text`, at pixel `x` and, in its middle, `y`."""
    import altair as alt

    weight = 600 if bold else 400
    mark = plotted(rows).mark_text(
        align=align, baseline="middle", fontSize=SIZE, fontWeight=weight, color=colour
    )
    return mark.encode(**pixels(), text=alt.Text("text:N"))


def symbols(rows: Sequence[Row], size: int = 42) -> Any:
    """Return a layer of the cells' symbols at pixels `x` and `y`: see `symbol`."""
    mark = plotted(rows).mark_point(size=size, strokeWidth=2, opacity=1)
    return mark.encode(**pixels(), **coloured("shape", "fill", "stroke"))


def symbol(mark: Mark) -> dict[str, str]:
    """Return what `symbols` draws a cell's mark from."""
    return {
        "shape": colours.shape(mark),
        "fill": colours.inside(mark),
        "stroke": colours.hue(mark),
    }


def lines(rows: Sequence[Row], **style: Any) -> Any:
    """Return a layer of straight lines from pixels `x`, `y` to `x2`, `y2`."""
    import altair as alt

    style = {"color": colours.STRONG, "strokeWidth": 1, **style}
    mark = plotted(rows).mark_rule(**style)
    return mark.encode(**pixels(), x2=alt.X2("x2"), y2=alt.Y2("y2"))


def boxes(rows: Sequence[Row], linked: bool = False) -> Any:
    """Return a layer of boxes from pixels `x`, `y` to `x2`, `y2`, in the colour `fill`.

    An edge is dashed, in the colour `stroke`. `linked`: each leads to its `href`, called `said`.
    """
    import altair as alt

    mark = plotted(rows).mark_rect(cornerRadius=2 if linked else 0, strokeDash=[3, 2], aria=linked)
    more = {"href": alt.Href("href:N"), "description": alt.Description("said:N")} if linked else {}
    return mark.encode(
        **pixels(), x2=alt.X2("x2"), y2=alt.Y2("y2"), **coloured("fill", "stroke"), **more
    )


def coloured(*channels: str) -> dict[str, Any]:
    """Return the encoding of what each row says as it is to be drawn: `fill`, `stroke`, `shape`."""
    import altair as alt

    kinds: dict[str, Any] = {"fill": alt.Fill, "stroke": alt.Stroke, "shape": alt.Shape}
    return {channel: kinds[channel](f"{channel}:N", scale=None) for channel in channels}


def pixels() -> dict[str, Any]:
    """Return the encoding of a place that is given in pixels."""
    import altair as alt

    return {"x": alt.X("x:Q", scale=None, axis=None), "y": alt.Y("y:Q", scale=None, axis=None)}


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return `places` moved as little as keeps them `gap` apart, in the same order.

    They stay between `low` and `high` where there is room for all of them.
    """
    order = sorted(range(len(places)), key=lambda at: (places[at], at))
    groups: list[list[int]] = []
    starts: list[float] = []
    for at in order:
        groups.append([at])
        starts.append(_start(places, groups[-1], gap, low, high))
        while len(groups) > 1 and starts[-2] + gap * len(groups[-2]) > starts[-1]:
            last = groups.pop()
            groups[-1] += last
            starts[-2:] = [_start(places, groups[-1], gap, low, high)]
    moved = [0.0] * len(places)
    for start, group in zip(starts, groups, strict=True):
        for number, at in enumerate(group):
            moved[at] = start + number * gap
    return moved


def _start(
    places: Sequence[float], group: Sequence[int], gap: float, low: float, high: float
) -> float:
    length = gap * (len(group) - 1)
    middle = sum(places[at] for at in group) / len(group)
    return max(low, min(middle - length / 2, high - length))
