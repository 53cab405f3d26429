"""The best cell against each of the others: paired differences with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.report.charts import intervals_chart, theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import short_name
from harness.report.document import ChartFigure, Mark, TableBlock
from harness.report.run_view import ChartCache
from harness.text import numbers

_MAX_ROWS = 8
"""Cells that are drawn; the table has all."""


@dataclass(frozen=True)
class PlottedDifference:
    """The best cell's mean less another's, over the same questions, with its 95 % interval.

    `significant`: by `p`, which is corrected over a family of so many tests.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    mark: Mark
    significant: bool
    p: float | None = None
    family: int = 1


def figure(
    best: str,
    metric: str,
    rows: Sequence[PlottedDifference],
    digits: int = 2,
    cache: ChartCache | None = None,
) -> ChartFigure | None:
    """Return the differences of the cell called `best` over the others; None without others.

    Args:
        best: Its name, as `view.name` has it.
        metric: What the means are of.
        rows: The others, in the leaderboard's order.
        digits: How many digits differences are written with.
        cache: What was drawn before: `view.drawn`.
    """
    if not rows:
        return None
    plotted = []
    for row in rows[:_MAX_ROWS]:
        looks = {**theme.symbol(row.mark), "shape": "circle"}
        looks["fill"] = looks["stroke"] if row.significant else theme.BACKGROUND
        ends = row.low, row.high
        plotted.append(intervals_chart.row(row.name, row.value, *ends, looks, digits, signed=True))
    caption = (
        f"Mean {metric} of {short_name(best)} less that of each other configuration over the same "
        "questions, with its 95 % interval. Filled: significant by max-T; hollow: not."
    )
    if len(plotted) < len(rows):
        caption += f" {len(rows) - len(plotted)} more are in the table."
    table = TableBlock(
        ["Against", f"Difference in {metric}", "95 % interval", "p, corrected", "over tests"],
        [
            [
                row.name,
                numbers.difference(row.value, digits),
                numbers.between(row.low, row.high, digits),
                numbers.probability(row.p),
                f"{row.family:,}",
            ]
            for row in rows
        ],
        f"{short_name(best)} less each of the others",
        marks=[row.mark for row in rows],
    )
    data = (plotted, {"zero": True, "nice": 5}, 0.0, "+.3~f")
    chart = Chart(_title(best, rows), caption, table, intervals_chart.spec, data)
    return ChartFigure("differences", [chart.draw(cache)])


def _title(best: str, rows: Sequence[PlottedDifference]) -> str:
    name, all_ = short_name(best), len(rows)
    beaten = sum(row.significant and row.value > 0 for row in rows)
    lost = sum(row.significant and row.value < 0 for row in rows)
    if lost:
        return f"{name} beats {beaten} of {numbers.count(all_, 'other')}; {lost} of them beat it"
    if beaten == all_:
        return f"{name} beats {'the other' if all_ == 1 else f'all {all_:,} others'}"
    if not beaten:
        others = "the other" if all_ == 1 else f"any of the {all_:,} others"
        return f"{name} is not shown to beat {others}"
    undecided = all_ - beaten
    rest = "1 is" if undecided == 1 else f"{undecided} are"
    return f"{name} is shown to beat {beaten} of {all_} others; {rest} too close to call"
