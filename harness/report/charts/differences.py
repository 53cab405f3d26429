"""The best cell against each of the others: paired differences with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness import numbers
from harness.report.blocks import Drawing, Figure, Mark, Table
from harness.report.charts import cells, colours, intervals, lettering, svg
from harness.report.charts.intervals import Row, Scale
from harness.report.charts.svg import Drawn

_MOST = 8
"""Cells that are drawn; the table has all."""


@dataclass(frozen=True)
class Difference:
    """The best cell's mean less another's, over the same questions.

    `significant`: by `p`, which is corrected over a family of so many tests. `visible` is the least
    difference that would have been found four times in five; None where none would.
    """

    name: str
    mark: Mark
    difference: float
    low: float | None
    high: float | None
    significant: bool
    p: float | None = None
    family: int = 1
    visible: float | None = None


def figure(
    best: str, metric: str, rows: Sequence[Difference], digits: int = 2, drawn: Drawn | None = None
) -> Figure | None:
    """Return the differences of the cell called `best` over the others; None without others.

    Args:
        best: Its name, as `view.name` has it.
        metric: What the means are of.
        rows: The others, in the leaderboard's order.
        digits: How many digits differences are written with.
        drawn: What was drawn before: `view.drawn`.
    """
    if not rows:
        return None
    seen = [_row(each, digits) for each in rows[:_MOST]]
    scale = _scale(seen)
    title, name = _title(best, rows), cells.short(best)
    wide, narrow = svg.draw(
        lambda width: intervals.chart(width, seen, scale, 0.0), seen, "differences", title, drawn
    )
    caption = (
        f"Mean {metric} of {name} less that of each other configuration over the same questions, "
        "with its 95 % interval. Filled: significant after Holm's correction; hollow: not."
    )
    if len(seen) < len(rows):
        caption += f" {len(rows) - len(seen)} more are in the table."
    head = [
        "Against",
        f"Difference in {metric}",
        "95 % interval",
        "p, corrected",
        "over tests",
        "Would have shown",
    ]
    table = Table(
        head,
        [
            [
                each.name,
                numbers.difference(each.difference, digits),
                numbers.between(each.low, each.high, digits),
                numbers.probability(each.p),
                f"{each.family:,}",
                numbers.score(each.visible, digits),
            ]
            for each in rows
        ],
        f"{name} less each of the others",
        marks=[each.mark for each in rows],
    )
    return Figure("differences", [Drawing("difference", title, caption, wide, narrow, table)])


def _row(each: Difference, digits: int) -> Row:
    hue = colours.hue(each.mark)
    fill = hue if each.significant else colours.BACKGROUND
    return Row(
        lettering.line(each.name),
        each.difference,
        each.low,
        each.high,
        (("shape", "circle"), ("fill", fill), ("stroke", hue)),
        numbers.difference(each.difference, digits),
        "" if each.low is None else numbers.between(each.low, each.high, digits),
    )


def _title(best: str, rows: Sequence[Difference]) -> str:
    name, all_ = cells.short(best), len(rows)
    beaten = sum(each.significant and each.difference > 0 for each in rows)
    lost = sum(each.significant and each.difference < 0 for each in rows)
    if lost:
        return f"{name} beats {beaten} of {numbers.count(all_, 'other')}; {lost} of them beat it"
    if beaten == all_:
        return f"{name} beats {'the other' if all_ == 1 else f'all {all_:,} others'}"
    if not beaten:
        others = "the other" if all_ == 1 else f"any of the {all_:,} others"
        return f"{name} is not shown to beat {others}"
    left = all_ - beaten
    rest = "one" if left == 1 else f"{left}"
    return f"{name} beats {beaten} of {all_} others; {rest} it is not shown to beat"


def _scale(rows: Sequence[Row]) -> Scale:
    """Return an axis that holds 0 and every interval, with round ticks."""
    ends = [end for each in rows for end in (each.low, each.at, each.high) if end is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    size = 10.0 ** math.floor(math.log10((high - low) or 0.1))
    step = next(size * times for times in (0.1, 0.2, 0.5, 1, 2) if (high - low) / size <= 5 * times)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    ticks = tuple(round(at * step, 12) for at in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks, "+.3~f")
