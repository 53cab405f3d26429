"""No retrieval, a configuration and perfect retrieval, as dots on one scale."""

from __future__ import annotations

from collections.abc import Sequence

from harness import numbers
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import colours, intervals, lettering, svg
from harness.report.charts.frame import symbol
from harness.report.charts.intervals import Scale
from harness.report.potential import Potential
from harness.report.potential import Row as Measured
from harness.report.view import View
from harness.statistics.aggregate import Aggregate

_SCALE = Scale(0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), ".1f")
_MOST = 6
"""Generators that are drawn; the tables have all."""
NOTHING, RETRIEVED, EVIDENCE = "No retrieval", "As retrieved", "Perfect retrieval"
HIGHEST = "Highest mean"
"""What the sides are called; the tables name the configurations."""


def figure(view: View, found: Sequence[Potential], title: str) -> Figure | None:
    """Return the first measure of each generator; None where nothing was measured."""
    shown = [each for each in found if each.rows][:_MOST]
    if not shown:
        return None
    several = len(shown) > 1
    rows, table = [], []
    for each in shown:
        first = each.rows[0]
        digits = view.digits(first.name) if first.name in view.metrics else 2
        for name, line, looks in _lines(view, each, first):
            called = f"{name}, {each.generator}" if several else name
            mean, span = numbers.score(line.mean, digits), _interval(line, digits)
            table.append([called, first.name, mean, span or numbers.MISSING, f"{line.n:,}"])
            if line.mean is not None:
                short = lettering.line(called)
                rows.append(intervals.Row(short, line.mean, line.low, line.high, looks, mean, span))
    wide, narrow = svg.draw(
        lambda width: intervals.chart(width, rows, _SCALE, None), rows, "oracle", title, view.drawn
    )
    names = " and ".join(dict.fromkeys(each.rows[0].name for each in shown))
    caption = (
        f"Mean {names} with its 95 % interval, over the questions that have evidence: without any "
        "context, as retrieved, and with the gold passages as context."
    )
    head = ["Given", "Measure", "Mean", "95 % interval", "n"]
    drawing = Drawing("oracle", title, caption, wide, narrow, Table(head, table, title))
    return Figure("oracle", [drawing])


_Looks = tuple[tuple[str, str], ...]


def _lines(view: View, each: Potential, row: Measured) -> list[tuple[str, Aggregate, _Looks]]:
    own = tuple(symbol(view.mark(each.cell)).items())
    lines = [(NOTHING, row.nothing, _plain(colours.BACKGROUND, colours.THIRD))]
    lines.append((RETRIEVED, row.cell, own))
    if each.best is not None and row.best is not None:
        best = tuple(symbol(view.mark(each.best)).items())
        lines.append((HIGHEST, row.best, best))
    return [*lines, (EVIDENCE, row.evidence, _plain(colours.INK, colours.INK))]


def _plain(fill: str, stroke: str) -> _Looks:
    return (("shape", "circle"), ("fill", fill), ("stroke", stroke))


def _interval(line: Aggregate, digits: int) -> str:
    return "" if line.low is None else numbers.interval(line.low, line.high, digits)
