"""Quality against cost (seconds, tokens), with the Pareto front of the cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from harness.report.charts import chart_cells, svg, theme
from harness.report.charts.lettering import fit, short_name, text_width
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


@dataclass(frozen=True)
class _Cost:
    label: str
    axis: str
    least: str
    written: Callable[[float], str]
    of: Callable[[View, CellResult], float | None]


_COSTS = (
    _Cost(
        "latency", "median seconds a question", "is the fastest", numbers.seconds, View.seconds
    ),
    _Cost(
        "tokens", "tokens a question, in and out", "takes the fewest tokens",
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
    cells = []
    for cell in view.cells:
        mean, spent = view.score(cell).mean, cost.of(view, cell)
        if mean is not None and spent is not None and spent > 0:
            about = {"mean": mean, "cost": spent, "highlighted": cell.name in highlighted}
            points.append({**chart_cells.cell_row(view, cell), **about})
            cells.append(cell)
    if len({point["cost"] for point in points}) < 2:
        return None
    points, digits = mark_front(points), view.digits(view.by)
    axis, unit = cost.axis, 1
    if cost.label == "latency" and max(point["cost"] for point in points) < 1:
        axis, unit = axis.replace("seconds", "milliseconds"), 1000
    table = TableBlock(
        ["Configuration", view.by, cost.axis.capitalize(), "On the front"],
        [
            [
                point["name"],
                numbers.score(point["mean"], digits),
                cost.written(point["cost"]),
                "yes" if point["front"] else "no",
            ]
            for point in points
        ],
        f"{view.by} and {cost.label}",
        marks=[view.mark(cell) for cell in cells],
    )
    front = sorted((point for point in points if point["front"]), key=lambda point: point["cost"])
    title = f"{len(front):,} configurations of {len(points):,} are worth their {cost.label}"
    if len(front) == 1:
        title = f"{short_name(front[0]['name'])} scores highest and {cost.least}"
    caption = (
        f"{view.by} against {cost.label}. The line is the Pareto front, and bold names are on it: "
        "nothing scores higher for less."
    )
    steps = [(one, other) for one, other in pairwise(front) if other["mean"] > one["mean"]]
    for last, dearer in steps[-1:]:
        gain = numbers.difference(dearer["mean"] - last["mean"], digits)
        more = cost.written(dearer["cost"] - last["cost"])
        caption += f" The last step, from {short_name(last['name'])}, buys {gain} for {more} more."
    data = ([{**point, "cost": unit * point["cost"]} for point in points], axis)
    return svg.draw(cost.label, title, caption, table, _chart, data, view.drawn)


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


def _chart(width: int, points: Sequence[Row], title: str) -> Any:
    import altair as alt

    inner = width - 60
    costs, means = ([point[value] for point in points] for value in ("cost", "mean"))
    log = max(costs) / min(costs) > _LOG_SCALE_RATIO
    across = [min(costs) / 1.6, max(costs) * 1.6] if log else _with_room(costs)
    scale = alt.Scale(type="log" if log else "linear", domain=across)
    title = f"{title} (log scale)" if log else title
    axis = theme.axis(False, format=",.4~f", labelOverlap="greedy", title=title)
    x = alt.X("cost:Q", scale=scale, axis=axis)
    y = alt.Y("mean:Q", scale=alt.Scale(domain=_with_room(means)), axis=theme.axis())
    spots = zip(
        _pixels(costs, across, inner, log),
        _pixels(means, _with_room(means)[::-1], _HEIGHT),
        strict=True,
    )
    base = theme.data([*_place_names(list(zip(points, spots, strict=True)), inner)])
    line = base.mark_line(interpolate="step-after", color=theme.STRONG, strokeWidth=1.5)
    places = {field: alt.expr(f"datum.{field}") for field in ("align", "dx", "dy")}
    weight = alt.expr("datum.front ? 600 : 400")
    layers = [
        line.transform_filter("datum.front").encode(x=x, y=y, order="cost:Q"),
        theme.symbols(base, x, y, 80),
        theme.words(base, "label", x, y, color=alt.expr(_INK), fontWeight=weight, **places),
    ]
    return alt.layer(*layers, width=inner, height=_HEIGHT)


def _with_room(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = 0.12 * ((high - low) or abs(high) or 1.0)
    return [max(0.0, low - room), high + room]


def _pixels(
    values: Sequence[float], ends: Sequence[float], size: float, log: bool = False
) -> list[float]:
    """Return where a scale with these ends puts values."""
    first, last, *places = (math.log(value) if log else value for value in (*ends, *values))
    return [size * (place - first) / (last - first) for place in places]


def _place_names(pairs: Sequence[tuple[Row, tuple[float, float]]], width: int) -> Iterator[Row]:
    """Yield the points, each with the place of its name: none where it would touch another."""
    taken = [(x - 7, y - 7, x + 7, y + 7) for _, (x, y) in pairs]
    for point, (x, y) in sorted(pairs, key=lambda pair: not pair[0]["front"]):
        name = fit(point["name"], 0.44 * width)
        broad = text_width(name)
        placed: dict[str, Any] = {**point, "label": "", "align": "left", "dx": 0, "dy": 0}
        for dx, dy in _PLACES if point["front"] else _PLACES[::-1]:
            left, middle = x + dx - (broad if dx < 0 else 0), y + dy
            box = (left, middle - 7, left + broad, middle + 7)
            inside = left >= 0 and box[2] <= width + 20 and 0 <= middle <= _HEIGHT - 7
            free = inside and not any(
                box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
                for other in taken
            )
            if free and (point["highlighted"] or point["front"]):
                taken.append(box)
                align = "left" if dx > 0 else "right"
                placed |= {"label": name, "align": align, "dx": dx, "dy": dy}
                break
        yield placed
