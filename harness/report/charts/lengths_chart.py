"""Histogram of the lengths of each chunker's chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.report.charts import chart_cells, histograms, svg, theme
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.report.run_view import View
from harness.store.cell_results import ChunkLengths
from harness.text import numbers


def figure(view: View) -> ChartFigure | None:
    """Return a histogram a chunker; None where the harness did not cut the chunks."""
    lengths: dict[str, ChunkLengths] = {}
    for cell in view.cells:
        if cell.lengths is not None and cell.lengths.chunks:
            lengths.setdefault(cell.chunker, cell.lengths)
    if not lengths:
        return None
    shown = list(lengths.items())[: histograms.MAX_PANELS]
    title = _title(shown)
    panels = [_panel(name, line) for name, line in shown]
    longest = max(len(line.bins) * line.width for _, line in shown)
    wide, narrow = svg.draw(_chart, (panels, longest), title, view.drawn)
    head = ["Chunker", "Chunks", "Shortest", "Median", "Longest"]
    rows = [
        [
            name,
            *(
                f"{value:,.0f}"
                for value in (line_.chunks, line_.shortest, line_.median, line_.longest)
            ),
        ]
        for name, line_ in lengths.items()
    ]
    table = TableBlock(head, rows, "Characters a chunk")
    caption = "How many chunks are how long, in characters; the rule is the median."
    if len(lengths) > len(panels):
        caption += f" {len(panels)} of {len(lengths)} chunkers; the table has all."
    drawing = Drawing("lengths", title, caption, wide, narrow, table)
    return ChartFigure("lengths", [drawing])


def _panel(name: str, line: ChunkLengths) -> Row:
    return {
        "name": name,
        "note": f"{numbers.count(line.chunks, 'chunk')}, median {line.median:,.0f}",
        "best": False,
        "counts": tuple(line.bins),
        "step": line.width,
        "fill": theme.HUES[0],
        "rule": line.median,
    }


def _title(lengths: Sequence[tuple[str, ChunkLengths]]) -> str:
    by_median = sorted(lengths, key=lambda pair: pair[1].median)
    (short_name, short), (long_name, long) = by_median[0], by_median[-1]
    if len(lengths) == 1:
        half = f"{short.median:,.0f} characters or more"
        return f"Half of the {numbers.count(short.chunks, 'chunk')} have {half}"
    if short.median == long.median:
        return f"The median chunk has {short.median:,.0f} characters under every chunker"
    first, last = chart_cells.short_name(short_name), chart_cells.short_name(long_name)
    medians = f"median {short.median:,.0f} characters against {long.median:,.0f}"
    if len(lengths) == 2:
        return f"{first} cuts shorter chunks than {last}: {medians}"
    return f"{first} cuts the shortest chunks, {last} the longest: {medians}"


def _chart(width: int, panels: Sequence[Row], longest: float) -> Any:
    return histograms.chart(width, panels, 2, longest, shared=False)
