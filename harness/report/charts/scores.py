"""The deciding score of every cell with its interval, in the leaderboard's order."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness import numbers
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import cells, intervals, svg
from harness.report.charts.frame import symbol
from harness.report.charts.intervals import Row, Scale
from harness.report.view import View


def figure(view: View) -> Figure | None:
    """Return the means; None where there are not two to look at."""
    digits = view.digits(view.by)
    rows: list[Row] = []
    baseline: Row | None = None
    for cell in view.cells:
        line = view.score(cell)
        if line.mean is None:
            continue
        drawn = cells.drawn(view, cell)
        written = numbers.score(line.mean, digits)
        span = "" if line.low is None else numbers.interval(line.low, line.high, digits)
        looks = tuple(symbol(drawn.mark).items())
        row = Row(drawn.name, line.mean, line.low, line.high, looks, written, span, drawn.best)
        rows.append(row)
        baseline = row if cell.name == view.run.baseline else baseline
    if len(rows) < 2:
        return None
    seen = [each for at, each in enumerate(rows) if at < intervals.MOST or each is baseline]
    reference = None if baseline is None else baseline.at
    scale = _scale(seen)
    title = _title(view, rows)
    wide, narrow = svg.draw(
        lambda width: intervals.chart(width, seen, scale, reference, "baseline"),
        (seen, reference),
        "scores",
        title,
        view.drawn,
    )
    caption = f"Mean {view.by} of each configuration with its 95 % interval, best first."
    if len(seen) < len(rows):
        caption += f" {len(rows) - len(seen)} lower ones are in the table."
    drawing = Drawing("score", title, caption, wide, narrow, _table(view, digits))
    return Figure("scores", [drawing])


def _title(view: View, rows: Sequence[Row]) -> str:
    first = [each for each in rows if each.at == rows[0].at]
    if len(first) > 1:
        return f"{len(first):,} configurations share the highest {view.by}: {rows[0].written}"
    return f"{cells.short(rows[0].name)} has the highest {view.by}: {rows[0].written}"


def _table(view: View, digits: int) -> Table:
    rows = []
    for cell in view.cells:
        line = view.score(cell)
        interval = numbers.interval(line.low, line.high, digits)
        rows.append([view.name(cell), numbers.score(line.mean, digits), interval, f"{line.n:,}"])
    marks = [view.mark(cell) for cell in view.cells]
    return Table(
        ["Configuration", view.by, "95 % interval", "n"], rows, f"{view.by}, mean", marks=marks
    )


def _scale(rows: Sequence[Row]) -> Scale:
    """Return an axis of tenths, or of hundredths where all lies close together."""
    ends = [end for each in rows for end in (each.low, each.at, each.high) if end is not None]
    unit = 10 if max(ends) - min(ends) > 0.1 else 100
    low, high = math.floor(min(ends) * unit), math.ceil(max(ends) * unit)
    if low == high:
        low, high = (low - 1, high) if high == unit else (low, high + 1)
    step = next(step for step in (1, 2, 5, 10) if (high - low) / step <= 6)
    low, high = low // step * step, -(-high // step) * step
    ticks = tuple(at / unit for at in range(low, high + 1, step))
    return Scale(low / unit, high / unit, ticks, ".2~f" if unit == 10 else ".2f")
