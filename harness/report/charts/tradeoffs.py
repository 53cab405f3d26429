"""Quality against cost (seconds, tokens), with the Pareto front of the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from harness.report.charts import chart_cells, svg, theme
from harness.report.charts.lettering import fit, text_width
from harness.report.charts.theme import Row
from harness.report.document import ChartFigure, Drawing, TableBlock
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.text import numbers

_HEIGHT = 290
_LOG_SCALE_RATIO = 20
"""How many times the least the most is, for the scale to be logarithmic."""
_PLACES = ((-10, 0), (-10, -9), (-10, 9), (10, 9), (10, -9), (10, 0))
"""Where a name may stand beside its point, in pixels: the best first for those on the front."""
_INK = f"datum.front ? '{theme.INK}' : '{theme.SECOND}'"
_Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class _Cost:
    label: str
    axis: str
    worth: str
    least: str
    written: Callable[[float], str]
    of: Callable[[View, CellResult], float | None]


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


def figure(view: View) -> ChartFigure | None:
    """Return quality against each cost that is known; None where there are not two cells.

    Seconds that leave out the embedding of the question are no latency, and not drawn.
    """
    costs = [cost for cost in _COSTS if cost.label != "latency" or not view.embeds]
    drawings = [drawing for cost in costs if (drawing := _drawing(view, cost)) is not None]
    return ChartFigure("tradeoffs", drawings) if drawings else None


def _drawing(view: View, cost: _Cost) -> Drawing | None:
    highlighted = chart_cells.highlighted_cells(view)
    points: list[Row] = []
    for cell in view.cells:
        mean, cost_value = view.score(cell).mean, cost.of(view, cell)
        if mean is not None and cost_value is not None and cost_value > 0:
            about = {"mean": mean, "cost": cost_value, "highlighted": cell.name in highlighted}
            points.append({**chart_cells.cell_row(view, cell), **about, "mark": view.mark(cell)})
    if len({point["cost"] for point in points}) < 2:
        return None
    points = mark_front(points)
    axis, unit = cost.axis, 1
    if cost.label == "latency" and max(point["cost"] for point in points) < 1:
        axis, unit = axis.replace("seconds", "milliseconds"), 1000
    title, digits = _title(cost, points), view.digits(view.by)
    plotted = [{**point, "cost": unit * point["cost"], "mark": None} for point in points]
    wide, narrow = svg.draw(_chart, (plotted, axis), title, view.drawn)
    rows = [
        [
            point["name"],
            numbers.score(point["mean"], digits),
            cost.written(point["cost"]),
            "yes" if point["front"] else "no",
        ]
        for point in points
    ]
    head = ["Configuration", view.by, cost.axis.capitalize(), "On the front"]
    marks = [point["mark"] for point in points]
    table = TableBlock(head, rows, f"{view.by} and {cost.label}", marks=marks)
    return Drawing(cost.label, title, _caption(view, cost, points, digits), wide, narrow, table)


def mark_front(points: Sequence[Row]) -> list[Row]:
    """Return the points, those marked that no other beats: as good or better for as much or less.

    Of points alike in both, all are on the front.
    """

    def beaten(one: Row) -> bool:
        return any(
            other["mean"] >= one["mean"]
            and other["cost"] <= one["cost"]
            and (other["mean"] > one["mean"] or other["cost"] < one["cost"])
            for other in points
        )

    return [{**point, "front": not beaten(point)} for point in points]


def _title(cost: _Cost, points: Sequence[Row]) -> str:
    front = [point for point in points if point["front"]]
    if len(front) == 1:
        return f"{chart_cells.short_name(front[0]['name'])} scores highest and {cost.least}"
    return f"{len(front):,} configurations of {len(points):,} are worth their {cost.worth}"


def _caption(view: View, cost: _Cost, points: Sequence[Row], digits: int) -> str:
    caption = (
        f"{view.by} against {cost.label}. The line is the Pareto front, and bold names are on it: "
        "nothing scores higher for less."
    )
    front = sorted((point for point in points if point["front"]), key=lambda point: point["cost"])
    steps = [(one, other) for one, other in pairwise(front) if other["mean"] > one["mean"]]
    if steps:
        last, dearer = steps[-1]
        gain = numbers.difference(dearer["mean"] - last["mean"], digits)
        more = cost.written(dearer["cost"] - last["cost"])
        name = chart_cells.short_name(last["name"])
        caption += f" The last step, from {name}, buys {gain} for {more} more."
    return caption


def _chart(width: int, points: Sequence[Row], title: str) -> Any:
    import altair as alt

    inner = width - 60
    costs, means = ([point[value] for point in points] for value in ("cost", "mean"))
    log = max(costs) / min(costs) > _LOG_SCALE_RATIO
    across = [min(costs) / 1.6, max(costs) * 1.6] if log else _with_room(min(costs), max(costs))
    up = _with_room(min(means), max(means))
    x = alt.X(
        "cost:Q",
        scale=alt.Scale(type="log" if log else "linear", domain=across),
        axis=theme.axis(
            False,
            format=",.4~f",
            labelOverlap="greedy",
            title=f"{title} (log scale)" if log else title,
        ),
    )
    y = alt.Y("mean:Q", scale=alt.Scale(domain=up), axis=theme.axis())
    placed = theme.data([*_place_names(points, across, up, log, inner)])
    front = placed.transform_filter("datum.front")
    line = front.mark_line(interpolate="step-after", color=theme.STRONG, strokeWidth=1.5)
    places = {field: alt.expr(f"datum.{field}") for field in ("align", "dx", "dy")}
    places["fontWeight"] = alt.expr("datum.front ? 600 : 400")
    layers = [
        line.encode(x=x, y=y, order=alt.Order("cost:Q")),
        theme.symbols(placed, x, y, 80),
        theme.words(placed, "label", x, y, color=alt.expr(_INK), **places),
    ]
    return alt.layer(*layers, width=inner, height=_HEIGHT)


def _with_room(low: float, high: float) -> list[float]:
    room = 0.12 * ((high - low) or abs(high) or 1.0)
    return [max(0.0, low - room), high + room]


def _place_names(
    points: Sequence[Row], across: Sequence[float], up: Sequence[float], log: bool, width: int
) -> Iterator[Row]:
    """Yield the points, each with the place of its name: none where it would touch another.

    Above and left of a point on the front there is nothing: no point, and no line.
    """
    costs, ends = (
        [math.log(value) if log else value for value in values]
        for values in ([point["cost"] for point in points], across)
    )
    spots = [
        (
            width * (cost - ends[0]) / (ends[1] - ends[0]),
            _HEIGHT * (up[1] - point["mean"]) / (up[1] - up[0]),
        )
        for cost, point in zip(costs, points, strict=True)
    ]
    pairs = list(zip(points, spots, strict=True))
    taken = [(x - 7, y - 7, x + 7, y + 7) for x, y in spots]
    front = sorted(spot for point, spot in pairs if point["front"])
    for (x, y), (next_x, next_y) in pairwise(front):  # the line: first across, then up
        taken += [(x, y - 2, next_x, y + 2), (next_x - 2, next_y, next_x + 2, y)]
    for point, (x, y) in sorted(pairs, key=lambda pair: not pair[0]["front"]):
        named = point["highlighted"] or point["front"]
        name = fit(point["name"], 0.44 * width)
        broad = text_width(name)
        place: Row = {"label": "", "align": "left", "dx": 0, "dy": 0}
        for dx, dy in _PLACES if point["front"] else _PLACES[::-1]:
            left = x + dx if dx > 0 else x + dx - broad
            box = (left, y + dy - 7, left + broad, y + dy + 7)
            inside = left >= 0 and box[2] <= width + 20 and 0 <= y + dy <= _HEIGHT - 7
            if named and inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                align = "left" if dx > 0 else "right"
                place = {"label": name, "align": align, "dx": dx, "dy": dy}
                break
        yield {**point, **place}


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
