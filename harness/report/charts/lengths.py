"""How long the chunks of each chunker are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness import numbers
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import cells, colours, svg
from harness.report.charts.frame import Margins, Row, boxes, framed, lines, words
from harness.report.charts.lettering import fitted
from harness.report.view import View
from harness.stored import LengthsLine

_MOST = 8
_BAR = 70
_ROW = 140
_BETWEEN = 28


@dataclass(frozen=True)
class _Panel:
    chunker: str
    chunks: int
    median: float
    bins: tuple[int, ...]
    width: int


def figure(view: View) -> Figure | None:
    """Return a histogram a chunker; None where the harness did not cut the chunks."""
    found: dict[str, LengthsLine] = {}
    for cell in view.cells:
        if cell.lengths is not None and cell.lengths.chunks:
            found.setdefault(cell.chunker, cell.lengths)
    if not found:
        return None
    panels = [
        _Panel(name, line.chunks, line.median, tuple(line.bins), line.width)
        for name, line in list(found.items())[:_MOST]
    ]
    title = _title(panels)
    wide, narrow = svg.draw(
        lambda width: _chart(width, panels), panels, "lengths", title, view.drawn
    )
    head = ["Chunker", "Chunks", "Shortest", "Median", "Longest"]
    rows = [
        [name, *(f"{each:,.0f}" for each in (own.chunks, own.shortest, own.median, own.longest))]
        for name, own in found.items()
    ]
    table = Table(head, rows, "Characters a chunk")
    caption = "How many chunks are how long, in characters; the rule is the median."
    if len(found) > len(panels):
        caption += f" {len(panels)} of {len(found)} chunkers; the table has all."
    drawing = Drawing("lengths", title, caption, wide, narrow, table)
    return Figure("lengths", [drawing])


def _title(panels: Sequence[_Panel]) -> str:
    by_median = sorted(panels, key=lambda each: each.median)
    short, long = by_median[0], by_median[-1]
    if len(panels) == 1:
        half = f"{short.median:,.0f} characters or more"
        return f"Half of the {numbers.count(short.chunks, 'chunk')} have {half}"
    if short.median == long.median:
        return f"The median chunk has {short.median:,.0f} characters under every chunker"
    first, last = cells.short(short.chunker), cells.short(long.chunker)
    said = f"median {short.median:,.0f} characters against {long.median:,.0f}"
    if len(panels) == 2:
        return f"{first} cuts shorter chunks than {last}: {said}"
    return f"{first} cuts the shortest chunks, {last} the longest: {said}"


def _chart(width: int, panels: Sequence[_Panel]) -> Any:
    columns = 2
    broad = (width - 2 - _BETWEEN) / columns
    longest = max(len(each.bins) * each.width for each in panels)
    scale = broad / longest
    names: list[Row] = []
    notes: list[Row] = []
    bars: list[Row] = []
    zeros: list[Row] = []
    ends: list[Row] = []
    bases: list[Row] = []
    medians: list[Row] = []
    for at, each in enumerate(panels):
        left, base = (at % columns) * (broad + _BETWEEN), (at // columns) * _ROW + _ROW - 24
        names.append({"x": left, "y": base - _BAR - 36, "text": fitted(each.chunker, broad)})
        note = f"{numbers.count(each.chunks, 'chunk')}, median {each.median:,.0f}"
        notes.append({"x": left, "y": base - _BAR - 20, "text": note})
        bases.append({"x": left, "y": base + 0.5, "x2": left + broad, "y2": base + 0.5})
        zeros.append({"x": left, "y": base + 12, "text": "0"})
        ends.append({"x": left + broad, "y": base + 12, "text": f"{longest:,}"})
        middle = left + each.median * scale
        medians.append({"x": middle, "y": base - _BAR - 8, "x2": middle, "y2": base})
        for bin_, many in enumerate(each.bins):
            if many:
                high = max(1.5, _BAR * many / max(each.bins))
                x, step = left + bin_ * each.width * scale, each.width * scale
                place = {"x": x, "x2": x + step - min(1, step / 4), "y": base - high, "y2": base}
                bars.append({**place, "fill": colours.HUES[0], "stroke": "none"})
    layers = [
        boxes(bars),
        lines(bases),
        lines(medians, color=colours.INK, strokeDash=[2, 2]),
        words(names),
        words(notes, colour=colours.SECOND),
        words(zeros, colour=colours.THIRD),
        words(ends, "right", colour=colours.THIRD),
    ]
    return framed(layers, width, -(-len(panels) // columns) * _ROW, Margins(1, 1, 0, 0))
