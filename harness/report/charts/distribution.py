"""Histogram of the scores of each cell's questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.report.charts import chart_cells, histograms, svg
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text import numbers

_BINS = 10


def figure(view: View) -> ChartFigure | None:
    """Return the deciding metric's values in tenths; None where there are none."""
    values = {cell.name: _values(view, cell) for cell in view.cells}
    scored = [cell for cell in view.cells if values[cell.name] and not cell.floor]
    scored = scored or [cell for cell in view.cells if values[cell.name]]
    if not scored or sum(map(len, values.values())) < 2:
        return None
    plotted = scored[: histograms.MAX_PANELS]
    panels = [_panel(view, cell, values[cell.name]) for cell in plotted]
    title = _title(panels[0], values[plotted[0].name])
    wide, narrow = svg.draw(_chart, (panels,), title, view.drawn)
    tenths = [f"{number / _BINS:.1f}" for number in range(_BINS)]
    head = ["Configuration", *tenths, "exactly 0", "exactly 1", "n"]
    rows = []
    for cell in scored:
        cell_values = values[cell.name]
        ends = [
            f"{cell_values.count(0.0):,}",
            f"{cell_values.count(1.0):,}",
            f"{len(cell_values):,}",
        ]
        rows.append(
            [view.name(cell), *(f"{count:,}" for count in count_tenths(cell_values)), *ends]
        )
    marks = [view.mark(cell) for cell in scored]
    table = TableBlock(head, rows, f"Questions by {view.by}, tenths from", marks=marks)
    drawing = Drawing("distribution", title, _caption(view, plotted, scored), wide, narrow, table)
    return ChartFigure("distribution", [drawing])


def count_tenths(values: Sequence[float]) -> tuple[int, ...]:
    """Return how many values each tenth from 0 to 1 holds; 1 itself is in the last."""
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int(value * _BINS + 1e-9))] += 1
    return tuple(counts)


def _values(view: View, cell: CellResult) -> list[float]:
    values = view.stored.frame.value[view.by][view.places(cell)].tolist()
    return [value for value in values if value == value]


def _panel(view: View, cell: CellResult, values: Sequence[float]) -> Row:
    row = chart_cells.cell_row(view, cell)
    counts = {"counts": count_tenths(values), "step": 1 / _BINS}
    return {**row, **counts, "fill": row["stroke"], "note": "", "rule": None}


def _title(first: Row, values: Sequence[float]) -> str:
    ones, zeros = values.count(1.0), values.count(0.0)
    name = chart_cells.short_name(first["name"])
    if ones and zeros:
        summary = f"{name} is perfect on {numbers.count(ones, 'question')} and at 0 on {zeros:,}"
        hidden = (ones + zeros) / len(values) >= 0.5
        return f"The mean hides two groups: {summary}" if hidden else summary
    if zeros:
        return f"{name} is perfect on no question, and at 0 on {zeros:,} of {len(values):,}"
    if ones:
        return f"{name} is perfect on {ones:,} of {numbers.count(len(values), 'question')}"
    middle = sorted(values)[len(values) // 2]
    return f"{name} reaches {numbers.score(middle, 2)} or more on half of the questions"


def _caption(view: View, plotted: Sequence[CellResult], scored: Sequence[CellResult]) -> str:
    caption = f"How many questions have which {view.by}, from 0 to 1 in tenths."
    failed = sum(view.score(cell).failed for cell in plotted)
    if failed:
        caption += f" {numbers.count(failed, 'failed question')} of these configurations left out."
    if len(plotted) < len(scored):
        caption += (
            f" The best {len(plotted):,} of {len(scored):,} configurations; the table has all."
        )
    return caption


def _chart(width: int, panels: Sequence[Row]) -> Any:
    return histograms.chart(width, panels, 3 if width >= svg.WIDE else 2, 1, shared=True)
