"""Scores with no retrieval, as retrieved and with perfect retrieval, on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.charts import intervals_chart, theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import View
from harness.runs.oracle.potential import Potential
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
    rows, table = [], []
    for potential in plotted:
        measure = potential.rows[0].name
        digits = view.digits(measure) if measure in view.metrics else 2
        for side, score, looks in _sides(view, potential):
            name = f"{side}, {potential.generator}" if len(plotted) > 1 else side
            span = numbers.interval(score.low, score.high, digits)
            table.append([name, measure, numbers.score(score.mean, digits), span, f"{score.n:,}"])
            if score.mean is not None:
                ends = score.low, score.high
                rows.append(intervals_chart.row(name, score.mean, *ends, looks, digits))
    if not rows:
        return None
    names = " and ".join(dict.fromkeys(potential.rows[0].name for potential in plotted))
    caption = (
        f"Mean {names} with its 95 % interval, over the questions that have evidence: without any "
        "context, as retrieved, and with the gold passages as context."
    )
    behind = TableBlock(["Given", "Measure", "Mean", "95 % interval", "n"], table, title)
    data = (rows, {"domain": (0, 1)})
    chart = Chart(title, caption, behind, intervals_chart.spec, data)
    return ChartFigure("oracle", [chart.draw(view.drawn)])


def _sides(view: View, potential: Potential) -> list[tuple[str, Aggregate, Row]]:
    first = potential.rows[0]
    nothing = {"shape": "circle", "fill": theme.BACKGROUND, "stroke": theme.THIRD}
    evidence = {"shape": "circle", "fill": theme.INK, "stroke": theme.INK}
    sides: list[tuple[str, Aggregate, Row]] = [
        (NOTHING, first.nothing, nothing),
        (RETRIEVED, first.cell, theme.symbol(view.mark(potential.cell))),
        (EVIDENCE, first.evidence, evidence),
    ]
    if potential.best is not None and first.best is not None:
        sides.insert(2, (HIGHEST, first.best, theme.symbol(view.mark(potential.best))))
    return sides
