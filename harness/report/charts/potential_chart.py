"""Scores with no retrieval, as retrieved and with perfect retrieval, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.report.charts import intervals_chart, svg, theme
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.report.potential import MeasureRow as Measured
from harness.report.potential import Potential
from harness.report.run_view import View
from harness.stats.aggregate_scores import Aggregate
from harness.text import numbers

_MAX_GENERATORS = 6
"""Generators that are drawn; the tables have all."""
NOTHING, RETRIEVED, EVIDENCE = "No retrieval", "As retrieved", "Perfect retrieval"
HIGHEST = "Highest mean"
"""What the sides are called; the tables name the configurations."""


def figure(view: View, potentials: Sequence[Potential], title: str) -> ChartFigure | None:
    """Return the first measure of each generator; None where nothing was measured."""
    plotted = [potential for potential in potentials if potential.rows][:_MAX_GENERATORS]
    if not plotted:
        return None
    several = len(plotted) > 1
    rows, table = [], []
    for potential in plotted:
        first = potential.rows[0]
        digits = view.digits(first.name) if first.name in view.metrics else 2
        for name, line, symbol in _lines(view, potential, first):
            label = f"{name}, {potential.generator}" if several else name
            span = numbers.interval(line.low, line.high, digits)
            mean = numbers.score(line.mean, digits)
            table.append([label, first.name, mean, span, f"{line.n:,}"])
            if line.mean is not None:
                ends = line.mean, line.low, line.high
                rows.append(intervals_chart.row(label, ends, symbol, digits))
    if not rows:
        return None
    wide, narrow = svg.draw(intervals_chart.chart, (rows, {"domain": (0, 1)}), title, view.drawn)
    names = " and ".join(dict.fromkeys(potential.rows[0].name for potential in plotted))
    caption = (
        f"Mean {names} with its 95 % interval, over the questions that have evidence: without any "
        "context, as retrieved, and with the gold passages as context."
    )
    head = ["Given", "Measure", "Mean", "95 % interval", "n"]
    drawing = Drawing("oracle", title, caption, wide, narrow, TableBlock(head, table, title))
    return ChartFigure("oracle", [drawing])


def _lines(
    view: View, potential: Potential, row: Measured
) -> list[tuple[str, Aggregate, dict[str, Any]]]:
    nothing = {"shape": "circle", "fill": theme.BACKGROUND, "stroke": theme.THIRD}
    evidence = {"shape": "circle", "fill": theme.INK, "stroke": theme.INK}
    lines = [
        (NOTHING, row.nothing, nothing),
        (RETRIEVED, row.cell, theme.symbol(view.mark(potential.cell))),
    ]
    if potential.best is not None and row.best is not None:
        lines.append((HIGHEST, row.best, theme.symbol(view.mark(potential.best))))
    return [*lines, (EVIDENCE, row.evidence, evidence)]
