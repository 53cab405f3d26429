"""The look of all charts: colours of the light theme, symbols of cells, axes and letters.

`recolouring` changes each of these colours in the dark; another one stays as it is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.charts import lettering
from harness.report.document import Mark

Row = Mapping[str, Any]
"""What a mark of a chart is drawn from: values by the names that the encoding calls them by."""

BACKGROUND = "#ffffff"
INK = "#14181d"
SECOND = "#4a525c"
THIRD = "#646c76"
LINE = "#e4e7eb"
STRONG = "#c6ccd3"
HUES: Sequence[str] = (
    "#757d88",
    "#c2570c",
    "#2280be",
    "#123f8c",
    "#6b4ba1",
    "#0b7a75",
    "#a8336f",
    "#6a6a00",
)
"""By the number that a `Mark` has."""
STAGES: Mapping[str, str] = {
    "none": "#e0e7ee",
    "chunking": "#5e3c99",
    "index": "#b9b2d8",
    "retrieval": "#b84e06",
    "reranking": "#fdbf6f",
    "context": "#6fc5b8",
    "generation": "#01665e",
}
"""By where an answer was lost; `none`: it was not."""
ON_PALE = "#101418"
"""Text on the stages that are pale in both themes; the stylesheet leaves it alone."""
TOKENS: Mapping[str, str] = {
    BACKGROUND: "background",
    INK: "ink",
    SECOND: "second",
    THIRD: "third",
    LINE: "line",
    STRONG: "strong",
    **{hex_: f"hue-{number}" for number, hex_ in enumerate(HUES)},
    **{hex_: f"stage-{stage}" for stage, hex_ in STAGES.items()},
}
"""The custom property of the stylesheet that stands for each colour."""


def recolouring() -> str:
    """Return the style rules that give the colours of charts those of the page's theme."""
    return "".join(
        f'.plot [{part}="{hex_}"]{{{part}:var(--{token})}}\n'
        for hex_, token in TOKENS.items()
        for part in ("fill", "stroke")
    )


FONT = (
    "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, "
    "'Liberation Sans', sans-serif"
)
FONT_SIZE = 12
CONFIG: Mapping[str, Any] = {
    "aria": False,
    "background": None,
    "padding": {"left": 0, "right": 0, "top": 2, "bottom": 4},
    "font": "sans-serif",  # to measure texts in: a list of fonts takes five times as long
    "view": {"stroke": None},
    "axis": {
        "domainColor": STRONG,
        "gridColor": LINE,
        "labelColor": THIRD,
        "labelFontSize": FONT_SIZE,
        "labelPadding": 6,
        "tickColor": STRONG,
        "tickSize": 4,
        "titleColor": THIRD,
        "titleFontSize": FONT_SIZE,
        "titleFontWeight": 400,
    },
    "axisX": {"titleAnchor": "end"},
    "text": {"align": "left", "baseline": "middle", "color": INK, "fontSize": FONT_SIZE},
    "rule": {"color": STRONG},
    "legend": {
        "labelColor": SECOND,
        "labelFontSize": FONT_SIZE,
        "labelLimit": 0,
        "offset": 12,
        "orient": "top",
        "title": None,
    },
}
"""Vega-Lite's configuration of every chart."""

_SHAPES = ("circle", "circle", "diamond", "square")
_DASHES = ((1, 0), (4, 3), (1.5, 3), (8, 3))
_HOLLOW = 1


def symbol(mark: Mark) -> dict[str, Any]:
    """Return a cell's looks: shape, fill and stroke of its symbol, and dash of its line."""
    hue = HUES[mark.hue % len(HUES)]
    return {
        "shape": _SHAPES[mark.shape % len(_SHAPES)],
        "fill": BACKGROUND if mark.shape == _HOLLOW else hue,
        "stroke": hue,
        "strokeDash": _DASHES[mark.shape % len(_DASHES)],
    }


def data(rows: Sequence[Row]) -> Any:
    """Return a chart of tidy rows, which has no marks yet; each text in them is one line."""
    import altair as alt

    clean = (
        {key: lettering.one_line(v) if isinstance(v, str) else v for key, v in row.items()}
        for row in rows
    )
    # Altair copies lists, row by row and many times over; of a tuple it keeps the one there is.
    values: Any = tuple(clean)
    return alt.Chart(alt.InlineData(values))


def literal(*channels: str) -> dict[str, Any]:
    """Return the encoding of looks that rows hold as they are to be drawn, such as `fill`."""
    import altair as alt

    kinds = {channel: getattr(alt, channel[0].upper() + channel[1:]) for channel in channels}
    return {channel: kind(f"{channel}:N", scale=None) for channel, kind in kinds.items()}


def axis(grid: bool = True, **more: Any) -> Any:
    """Return an axis; `grid`: hairlines across the chart in place of a line and ticks."""
    import altair as alt

    options = {
        "grid": grid,
        "domain": not grid,
        "ticks": not grid,
        "format": ".3~f",
        "labelExpr": "datum.value == 0 ? '0' : datum.label",
        "labelFlush": False,
        "title": None,
        **({} if "values" in more else {"tickCount": 5}),
    }
    return alt.Axis(**{**options, **more})


def words(base: Any, field: str, x: Any, y: Any, **style: Any) -> Any:
    """Return a layer of texts, bold where a row is the `best`."""
    import altair as alt

    style = {"fontWeight": alt.expr("datum.best ? 600 : 400"), **style}
    return base.mark_text(**style).encode(x=x, y=y, text=alt.Text(f"{field}:N"))


def symbols(base: Any, x: Any, y: Any, size: int = 42, **style: Any) -> Any:
    """Return a layer of the cells' symbols."""
    mark = base.mark_point(**{"size": size, "strokeWidth": 2, "opacity": 1, **style})
    return mark.encode(x=x, y=y, **literal("shape", "fill", "stroke"))
