"""Quality against what it takes: seconds and tokens, with the cells that nothing beats at both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from harness import numbers
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import cells, scatter, svg
from harness.report.charts.scatter import Point
from harness.report.view import NOT_COUNTED, View
from harness.stored import CellLine


@dataclass(frozen=True)
class _Cost:
    label: str
    axis: str
    worth: str
    least: str
    written: Callable[[float], str]
    of: Callable[[View, CellLine], float | None]


_COSTS = (
    _Cost(
        "latency", "median seconds a question", "latency", "is the fastest", numbers.seconds,
        View.seconds,
    ),
    _Cost(
        "tokens", "tokens a question, in and out", "tokens", "takes the fewest tokens",
        lambda count: f"{count:,.0f} tokens", View.tokens,
    ),
)  # fmt: skip


def figure(view: View) -> Figure | None:
    """Return quality against each cost that is known; None where there are not two cells."""
    drawings = [found for cost in _COSTS if (found := _drawing(view, cost)) is not None]
    return Figure("tradeoffs", drawings) if drawings else None


def _drawing(view: View, cost: _Cost) -> Drawing | None:
    told = cells.told_apart(view)
    points = []
    for cell in view.cells:
        mean, taken = view.score(cell).mean, cost.of(view, cell)
        if mean is not None and taken is not None and taken > 0:
            points.append(Point(cells.drawn(view, cell, cell.name in told), taken, mean))
    if len({each.cost for each in points}) < 2:
        return None
    points = front(points)
    axis, drawn = cost.axis, points
    if cost.label == "latency" and max(each.cost for each in points) < 1:
        axis = axis.replace("seconds", "milliseconds")
        drawn = [replace(each, cost=1000 * each.cost) for each in points]
    title, digits = _title(cost, points), view.digits(view.by)
    wide, narrow = svg.draw(
        lambda width: scatter.chart(width, drawn, axis),
        (drawn, axis),
        f"tradeoffs-{cost.label}",
        title,
        view.drawn,
    )
    rows = [
        [
            each.cell.name,
            numbers.score(each.mean, digits),
            cost.written(each.cost),
            "yes" if each.front else "no",
        ]
        for each in points
    ]
    head = ["Configuration", view.by, cost.axis.capitalize(), "On the front"]
    marks = [each.cell.mark for each in points]
    table = Table(head, rows, f"{view.by} and {cost.label}", marks=marks)
    return Drawing(cost.label, title, _caption(view, cost, points, digits), wide, narrow, table)


def front(points: Sequence[Point]) -> list[Point]:
    """Return the points, those marked that no other beats: as good or better for as much or less.

    Of points alike in both, all are on the front.
    """

    def beaten(one: Point) -> bool:
        return any(
            other.mean >= one.mean
            and other.cost <= one.cost
            and (other.mean > one.mean or other.cost < one.cost)
            for other in points
        )

    return [replace(each, front=not beaten(each)) for each in points]


def _title(cost: _Cost, points: Sequence[Point]) -> str:
    on = [each for each in points if each.front]
    if len(on) == 1:
        return f"{cells.short(on[0].cell.name)} scores highest and {cost.least}"
    return f"{len(on):,} configurations of {len(points):,} are worth their {cost.worth}"


def _caption(view: View, cost: _Cost, points: Sequence[Point], digits: int) -> str:
    said = (
        f"{view.by} against {cost.label}. The line is the Pareto front, and bold names are on it: "
        "nothing scores higher for less."
    )
    if cost.label == "latency" and view.embeds:
        said += f" {NOT_COUNTED}"
    on = sorted((each for each in points if each.front), key=lambda each: each.cost)
    steps = [(one, other) for one, other in pairwise(on) if other.mean > one.mean]
    if steps:
        last, dearer = steps[-1]
        gain = numbers.difference(dearer.mean - last.mean, digits)
        more = cost.written(dearer.cost - last.cost)
        said += f" The last step, from {cells.short(last.cell.name)}, buys {gain} for {more} more."
    return said
