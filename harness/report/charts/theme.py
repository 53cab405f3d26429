"""The look of all charts: widths, colours of the light theme, symbols of cells, axes.

`recolouring` changes each of these colours in the dark; another one stays as it is there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.report.document import Mark
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text.escaping import BIDI_CONTROLS

Row = Mapping[str, Any]
"""What a mark of a chart is drawn from: values by the names that the encoding calls them by."""

WIDE, NARROW, FULL_WIDTH = 560, 360, 960
"""Widths in pixels: of half a page, of a phone, and of a whole page."""
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
CONFIG: Mapping[str, Any] = {
    "aria": False,
    "background": None,
    "padding": {"left": 1, "right": 5, "top": 2, "bottom": 4},
    "font": "sans-serif",  # to measure texts in: a list of fonts takes five times as long
    "view": {"stroke": None},
    "axis": {
        "domainColor": STRONG,
        "gridColor": LINE,
        "labelColor": THIRD,
        "labelFontSize": 12,
        "labelPadding": 6,
        "tickColor": STRONG,
        "tickSize": 4,
        "titleColor": THIRD,
        "titleFontSize": 12,
        "titleFontWeight": 400,
    },
    "axisX": {"titleAnchor": "end"},
    "header": {"labelAnchor": "start", "labelColor": INK, "labelFontSize": 12, "title": None},
    "text": {"align": "left", "baseline": "middle", "color": INK, "fontSize": 12},
    "rule": {"color": STRONG},
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "labelLimit": 0,
        "offset": 12,
        "symbolSize": 62,
        "symbolStrokeWidth": 2,
        "title": None,
    },
}
"""Vega-Lite's configuration of every chart."""

_SHAPES = ("circle", "circle", "diamond", "square")
_DASHES = ((1, 0), (4, 3), (1.5, 3), (8, 3))
_HOLLOW = 1
_MAX_HIGHLIGHTED, _BEST_HIGHLIGHTED = 12, 6
"""Cells up to which each is drawn in colour; how many of more are."""


def symbol(mark: Mark) -> dict[str, Any]:
    """Return a cell's looks: shape, fill and stroke of its symbol, and dash of its line."""
    hue = HUES[mark.hue % len(HUES)]
    return {
        "shape": _SHAPES[mark.shape % len(_SHAPES)],
        "fill": BACKGROUND if mark.shape == _HOLLOW else hue,
        "stroke": hue,
        "strokeDash": _DASHES[mark.shape % len(_DASHES)],
    }


def cell_row(view: View, cell: CellResult) -> dict[str, Any]:
    """Return a cell's `name`, whether it is the `best` of several, and its symbol."""
    best = len(view.cells) > 1 and view.best is not None and cell.name == view.best.name
    return {"name": view.name(cell), "best": best, **symbol(view.mark(cell))}


def highlighted_cells(view: View) -> set[str]:
    """Return the full names of the cells that are drawn in colour: all, where there are few.

    Of many these are the best few and the baseline.
    """
    names = [cell.name for cell in view.cells]
    if len(names) <= _MAX_HIGHLIGHTED:
        return set(names)
    first = [cell.name for cell in view.cells if not cell.floor][:_BEST_HIGHLIGHTED]
    return {name for name in names if name in first or name == view.run.baseline}


def data(rows: Sequence[Row]) -> Any:
    """Return a chart of tidy rows, which has no marks yet; each text in them is one line."""
    import altair as alt

    clean = (
        {key: one_line(value) if isinstance(value, str) else value for key, value in row.items()}
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


def row_axis(texts: Sequence[str], width: int, best: int = -1, **more: Any) -> Any:
    """Return the axis of numbered rows, each with a text: beside it, or above where it is narrow.

    Args:
        texts: By the rows' numbers.
        width: Of the chart.
        best: The number of the row whose text is bold; -1: none.
        more: Options of the axis: `orient="right"` sets the texts flush right.
    """
    above = {"labelAlign": more.get("orient", "left"), "labelPadding": 0, "labelOffset": -14}
    plain = {"domain": False, "ticks": False, "labelColor": INK, "labelLimit": 0}
    style = {"labelPadding": 12} if width >= WIDE else above
    said = {"labelExpr": lookup(texts), "labelFontWeight": bold(best)}
    return axis(False, **{**plain, **style, **said, **more})


def names(rows: Sequence[Row], width: int) -> Any:
    """Return the axis of rows with a `name`, one of which may be the `best`."""
    longest = 34 if width >= WIDE else 30
    best = next((number for number, row in enumerate(rows) if row.get("best")), -1)
    return row_axis([short_name(row["name"], longest) for row in rows], width, best)


def bold(number: int) -> Any:
    """Return the weight of labels, of which that of this number is bold."""
    import altair as alt

    return alt.expr(f"datum.value === {number} ? 600 : 400")


def lookup(texts: Sequence[str | Sequence[str]]) -> str:
    """Return Vega's expression for one of the texts by the number that is the datum's value."""
    lines = [one_line(text) if isinstance(text, str) else [*map(one_line, text)] for text in texts]
    return f"{json.dumps(lines)}[datum.value]"


def layers(*parts: Any, width: int, height: int) -> Any:
    """Return a chart of layers, as broad with its axes and legend as `width` says."""
    import altair as alt

    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    return alt.layer(*parts, width=width, height=height, autosize=fit)


def words(base: Any, field: str, x: Any, y: Any, **style: Any) -> Any:
    """Return a layer of texts."""
    import altair as alt

    return base.mark_text(**style).encode(x=x, y=y, text=alt.Text(f"{field}:N"))


def symbols(base: Any, x: Any, y: Any, size: int = 62, **style: Any) -> Any:
    """Return a layer of the cells' symbols."""
    mark = base.mark_point(**{"size": size, "strokeWidth": 2, "opacity": 1, **style})
    return mark.encode(x=x, y=y, **literal("shape", "fill", "stroke"))


_MAX_CHARACTERS = 400
_PART_SEPARATOR = " × "
"""What stands between the parts of a cell's name."""
_MIN_PART_CHARACTERS = 5
_NOT_XML = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]"
    rf"|[{BIDI_CONTROLS}]"
)


def one_line(text: str, longest: int = _MAX_CHARACTERS) -> str:
    """Return a text as one line of at most `longest` characters, each of which XML may hold."""
    if len(text) > 4 * longest:
        text = f"{text[: 2 * longest]} {text[-2 * longest :]}"
    return _shorten(" ".join(_NOT_XML.sub("\ufffd", text).split()), longest)


def short_name(name: str, longest: int = 60) -> str:
    """Return a cell's name as one line, fit for a title: of several parts the longest lose most."""
    return one_line(name, longest)


def _shorten(text: str, length: int) -> str:
    parts = text.split(_PART_SEPARATOR)
    for longest in range(max(map(len, parts)), _MIN_PART_CHARACTERS - 1, -1):
        short = _PART_SEPARATOR.join(_cut_middle(part, longest) for part in parts)
        if len(short) <= length:
            return short
    return _cut_middle(text, length)


def _cut_middle(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    tail = (length - 1) // 2
    return f"{text[: length - 1 - tail]}…{text[len(text) - tail :]}"
