"""Points with names, and the line of those that no other beats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from harness.report.charts import colours, places, svg
from harness.report.charts.cells import Drawn
from harness.report.charts.frame import Margins, Row, axis, coloured, framed, plotted, symbol, words

_HEIGHT = 290
_LOG = 20
"""How many times the least the most is, for the scale to be logarithmic."""


@dataclass(frozen=True)
class Point:
    """A cell by what it takes and what it scores; `front`: no other beats it at both."""

    cell: Drawn
    cost: float
    mean: float
    front: bool = False


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    ticks: tuple[float, ...]
    log: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, from 0 to 1."""
        at, low, high = (math.log(x) if self.log else x for x in (value, self.low, self.high))
        return (at - low) / (high - low)


def chart(width: int, points: Sequence[Point], title: str) -> Any:
    """Return the chart; `title` says what the cost is."""
    import altair as alt

    around = Margins(left=40, right=24, top=10, bottom=42)
    inner, plot = width - around.left - around.right, _HEIGHT
    costs = [each.cost for each in points]
    log = max(costs) / min(costs) > _LOG
    across = (_decades if log else _linear)(costs, 5 if width < svg.WIDE else 7)
    up = _linear([each.mean for each in points], 6)
    label = f"{title} (log scale)" if log else title
    x = alt.X(
        "cost:Q",
        scale=alt.Scale(
            type="log" if log else "linear", domain=[across.low, across.high], nice=False
        ),
        axis=axis(across.ticks, label, grid=False, format=",.4~f"),
    )
    y = alt.Y(
        "mean:Q",
        scale=alt.Scale(domain=[up.low, up.high], nice=False),
        axis=axis(up.ticks, format=".3~f"),
    )
    on = sorted((each for each in points if each.front), key=lambda each: (each.cost, each.mean))
    stairs = [{"cost": each.cost, "mean": each.mean} for each in on]
    data = [
        {"cost": each.cost, "mean": each.mean, **symbol(each.cell.mark)}
        for each in sorted(points, key=lambda each: each.front)
    ]
    line = plotted(stairs).mark_line(
        interpolate="step-after", color=colours.STRONG, strokeWidth=1.5
    )
    dots = plotted(data).mark_point(size=80, strokeWidth=2, opacity=1)
    layers = [
        line.encode(x=x, y=y),
        dots.encode(x=x, y=y, **coloured("shape", "fill", "stroke")),
    ]
    spots = [(inner * across.share(e.cost), plot * (1 - up.share(e.mean))) for e in points]
    steps = [spots[points.index(each)] for each in on]
    layers += _names(points, spots, steps, inner)
    return framed(layers, width, plot + around.top + around.bottom, around)


def _names(
    points: Sequence[Point],
    spots: Sequence[tuple[float, float]],
    steps: Sequence[tuple[float, float]],
    inner: int,
) -> list[Any]:
    """Return the names of the points that are told apart or on the front, which are bold."""
    taken = [box for one, other in pairwise(steps) for box in places.step(one, other)]
    taken += [places.around(spot) for spot in spots]
    layers = []
    for bold in (True, False):
        rows: dict[str, list[Row]] = {"left": [], "right": []}
        for each, spot in zip(points, spots, strict=True):
            if each.front != bold or not (bold or each.cell.told):
                continue
            # Above and left of a point on the front there is nothing: no point, and no line.
            found = places.beside(each.cell.name, spot, taken, inner, _HEIGHT, bold, left=bold)
            if found is not None:
                taken.append(found.box)
                rows[found.align].append({"x": found.x, "y": found.y, "text": found.text})
        ink = colours.INK if bold else colours.SECOND
        layers += [words(some, align, bold, ink) for align, some in rows.items()]
    return layers


def _decades(values: Sequence[float], most: int) -> _Axis:
    """Return a logarithmic axis with room around `values` and at most `most` round ticks."""
    low, high = min(values) / 1.6, max(values) * 1.6
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks: tuple[float, ...] = ()
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = tuple(
            tick
            for each in decades
            for digit in digits
            if low <= (tick := digit * 10.0**each) <= high
        )
        if len(ticks) <= most:
            break
    return _Axis(low, high, ticks, log=True)


def _linear(values: Sequence[float], most: int) -> _Axis:
    """Return an axis with room around `values`, and about `most` round ticks."""
    room = (max(values) - min(values)) or abs(max(values)) or 1.0
    start, end = max(0.0, min(values) - 0.1 * room), max(values) + 0.1 * room
    size = 10.0 ** math.floor(math.log10((end - start) / most))
    step = next(size * times for times in (1, 2, 5, 10) if (end - start) / (size * times) < most)
    first, last = math.floor(start / step), math.ceil(end / step)
    ticks = tuple(round(at * step, 12) for at in range(first, last + 1))
    return _Axis(ticks[0], ticks[-1], ticks)
