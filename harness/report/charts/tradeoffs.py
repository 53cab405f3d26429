"""Quality against cost (seconds, tokens), with the Pareto front of the cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from harness.report.charts import theme
from harness.report.charts.svg import Chart
from harness.report.charts.theme import Row, short_name
from harness.report.document import ChartFigure, TableBlock
from harness.report.run_view import View
from harness.text import numbers

_LOG_SCALE_RATIO = 20
"""How many times the least the most is, for the scale to be logarithmic."""


def figure(view: View) -> ChartFigure | None:
    """Return quality against each cost that is known; None where there are not two cells.

    Seconds that leave out the embedding of the question are no latency, and not drawn.
    """
    charts = [None if view.embeds else _chart(view, "latency"), _chart(view, "tokens")]
    drawings = [chart.draw(view.drawn) for chart in charts if chart is not None]
    return ChartFigure("tradeoffs", drawings) if drawings else None


def _chart(view: View, label: str) -> Chart | None:
    of = view.seconds if label == "latency" else view.tokens
    highlighted = theme.highlighted_cells(view)
    points: list[Row] = []
    marks = []
    for cell in view.cells:
        mean, spent = view.score(cell).mean, of(cell)
        if mean is not None and spent is not None and spent > 0:
            about = {"mean": mean, "cost": spent, "highlighted": cell.name in highlighted}
            points.append({**theme.cell_row(view, cell), **about})
            marks.append(view.mark(cell))
    if len({point["cost"] for point in points}) < 2:
        return None
    points, digits = mark_front(points), view.digits(view.by)
    head, axis, unit = "Tokens a question, in and out", "tokens a question, in and out", 1
    if label == "latency":
        head = "Median seconds a question"
        unit = 1000 if max(point["cost"] for point in points) < 1 else 1
        axis = f"median {'milliseconds' if unit == 1000 else 'seconds'} a question"
    table = TableBlock(
        ["Configuration", view.by, head, "On the front"],
        [
            [
                point["name"],
                numbers.score(point["mean"], digits),
                _format(label, point["cost"]),
                "yes" if point["front"] else "no",
            ]
            for point in points
        ],
        f"{view.by} and {label}",
        marks=marks,
    )
    front = sorted((point for point in points if point["front"]), key=lambda point: point["cost"])
    title = f"{len(front):,} configurations of {len(points):,} are worth their {label}"
    if len(front) == 1:
        least = "is the fastest" if label == "latency" else "takes the fewest tokens"
        title = f"{short_name(front[0]['name'])} scores highest and {least}"
    caption = (
        f"{view.by} against {label}. The line is the Pareto front, and bold names are on it: "
        "nothing scores higher for less."
    )
    steps = [(one, other) for one, other in pairwise(front) if other["mean"] > one["mean"]]
    for last, dearer in steps[-1:]:
        gain = numbers.difference(dearer["mean"] - last["mean"], digits)
        more = _format(label, dearer["cost"] - last["cost"])
        caption += f" The last step, from {short_name(last['name'])}, buys {gain} for {more} more."
    data = ([{**point, "cost": unit * point["cost"]} for point in points], axis)
    return Chart(title, caption, table, _spec, data, label)


def _format(label: str, cost: float) -> str:
    return numbers.seconds(cost) if label == "latency" else f"{cost:,.0f} tokens"


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


def _spec(width: int, points: Sequence[Row], title: str) -> Any:
    import altair as alt

    costs, means = ([point[value] for point in points] for value in ("cost", "mean"))
    log = max(costs) / min(costs) > _LOG_SCALE_RATIO
    across = [min(costs) / 1.6, max(costs) * 1.6] if log else _with_room(costs)
    title = f"{title} (log scale)" if log else title
    axis = theme.axis(False, format=",.4~f", labelOverlap="greedy", title=title)
    scale = alt.Scale(type="log" if log else "linear", domain=across)
    x = alt.X("cost:Q", scale=scale, axis=axis)
    y = alt.Y("mean:Q", scale=alt.Scale(domain=_with_room(means)), axis=theme.axis())
    reach = 0.3 if width >= theme.WIDE else 0.5
    base = theme.data(_name_points(points, across, log, reach))
    line = base.mark_line(interpolate="step-after", color=theme.STRONG, strokeWidth=1.5)
    style = {key: alt.expr(f"datum.{key}") for key in ("align", "dx", "dy", "fontWeight", "color")}
    layers = [
        line.transform_filter("datum.front").encode(x=x, y=y, order="cost:Q"),
        theme.symbols(base, x, y, 80),
        theme.words(base, "label", x, y, **style),
    ]
    return theme.layers(*layers, width=width, height=290)


def _with_room(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    room = 0.12 * ((high - low) or abs(high) or 1.0)
    return [max(0.0, low - room), high + room]


def _name_points(
    points: Sequence[Row], across: Sequence[float], log: bool, reach: float
) -> list[Row]:
    """Return the points with a `label` where there is room: those on the front first.

    A name reaches so far of the width, towards the middle, and must meet no other name or point.
    """
    low, high = _with_room([point["mean"] for point in points])
    first, last = (math.log(end) if log else end for end in across)
    named: list[Row] = []
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda point: not point["front"]):
        cost = math.log(point["cost"]) if log else point["cost"]
        x, y = (cost - first) / (last - first), (point["mean"] - low) / (high - low)
        left, right = (x, x + reach) if x < 0.5 else (x - reach, x)
        close = any(left < end and right > start and abs(y - at) < 0.08 for start, end, at in taken)
        shown = not close and (point["front"] or point["highlighted"])
        taken.append((left, right, y) if shown else (x - 0.02, x + 0.02, y))
        side, dx = ("left", 10) if x < 0.5 else ("right", -10)
        ink = {"fontWeight": 400, "color": theme.SECOND, "dy": 0}
        if point["front"]:
            ink = {"fontWeight": 600, "color": theme.INK, "dy": 11}
        label = short_name(point["name"], 24) if shown else ""
        named.append({**point, **ink, "label": label, "align": side, "dx": dx})
    return named
