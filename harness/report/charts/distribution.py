"""How the questions of each cell score: a mean hides whether they are alike or of two kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness import numbers
from harness.report.blocks import Drawing, Figure, Table
from harness.report.charts import cells, colours, svg
from harness.report.charts.cells import Drawn
from harness.report.charts.frame import Margins, Row, boxes, framed, lines, words
from harness.report.charts.lettering import fitted
from harness.report.view import View
from harness.stored import CellLine

_MOST = 8
_BINS = 10
_BAR = 64
"""The height of the highest bar in pixels."""
_ROW = 130
_BETWEEN = 24


@dataclass(frozen=True)
class _Panel:
    cell: Drawn
    counts: tuple[int, ...]


def figure(view: View) -> Figure | None:
    """Return the deciding metric's values in tenths; None where there are none."""
    values = {cell.name: _values(view, cell) for cell in view.cells}
    scored = [cell for cell in view.cells if values[cell.name] and not cell.floor]
    scored = scored or [cell for cell in view.cells if values[cell.name]]
    if not scored or sum(map(len, values.values())) < 2:
        return None
    shown = scored[:_MOST]
    panels = [_Panel(cells.drawn(view, cell), counted(values[cell.name])) for cell in shown]
    title = _title(view, panels[0], values[shown[0].name])
    wide, narrow = svg.draw(
        lambda width: _chart(width, panels), panels, "distribution", title, view.drawn
    )
    tenths = [f"{at / _BINS:.1f}" for at in range(_BINS)]
    head = ["Configuration", *tenths, "exactly 0", "exactly 1", "n"]
    rows = []
    for cell in scored:
        own = values[cell.name]
        ends = [f"{own.count(0.0):,}", f"{own.count(1.0):,}", f"{len(own):,}"]
        rows.append([view.name(cell), *(f"{each:,}" for each in counted(own)), *ends])
    marks = [view.mark(cell) for cell in scored]
    table = Table(head, rows, f"Questions by {view.by}, tenths from", marks=marks)
    drawing = Drawing("distribution", title, _caption(view, shown, scored), wide, narrow, table)
    return Figure("distribution", [drawing])


def counted(values: Sequence[float]) -> tuple[int, ...]:
    """Return how many values each tenth from 0 to 1 holds; 1 itself is in the last."""
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int(value * _BINS + 1e-9))] += 1
    return tuple(counts)


def _values(view: View, cell: CellLine) -> list[float]:
    values = view.stored.columns.value[view.by][view.places(cell)].tolist()
    return [value for value in values if value == value]


def _title(view: View, first: _Panel, values: Sequence[float]) -> str:
    ones, zeros = values.count(1.0), values.count(0.0)
    name = cells.short(first.cell.name)
    if ones and zeros:
        said = f"{name} is perfect on {numbers.count(ones, 'question')} and at 0 on {zeros:,}"
        hidden = (ones + zeros) / len(values) >= 0.5
        return f"The mean hides two groups: {said}" if hidden else said
    if zeros:
        return f"{name} is perfect on no question, and at 0 on {zeros:,} of {len(values):,}"
    if ones:
        return f"{name} is perfect on {ones:,} of {numbers.count(len(values), 'question')}"
    middle = sorted(values)[len(values) // 2]
    return f"{name} reaches {numbers.score(middle, 2)} or more on half of the questions"


def _caption(view: View, shown: Sequence[CellLine], scored: Sequence[CellLine]) -> str:
    said = f"How many questions have which {view.by}, from 0 to 1 in tenths."
    failed = sum(view.score(cell).failed for cell in shown)
    if failed:
        said += f" {numbers.count(failed, 'failed question')} of these configurations left out."
    if len(shown) < len(scored):
        said += f" The best {len(shown):,} of {len(scored):,} configurations; the table has all."
    return said


def _chart(width: int, panels: Sequence[_Panel]) -> Any:
    most = 4 if width >= svg.WIDE else 2
    broad = (width - 2 - _BETWEEN * (most - 1)) / most
    step = broad / _BINS
    highest = max(max(each.counts) for each in panels)
    bars: list[Row] = []
    names: list[Row] = []
    ends: list[Row] = []
    tops: list[Row] = []
    bases: list[Row] = []
    for at, each in enumerate(panels):
        left, base = (at % most) * (broad + _BETWEEN), (at // most) * _ROW + _ROW - 24
        name = fitted(each.cell.name, broad + _BETWEEN - 8, bold=each.cell.best)
        names.append({"x": left, "y": base - _BAR - 28, "text": name, "bold": each.cell.best})
        bases.append({"x": left, "y": base + 0.5, "x2": left + broad, "y2": base + 0.5})
        ends += [
            {"x": left + end * broad, "y": base + 12, "text": f"{end}", "right": end}
            for end in (0, 1)
        ]
        for bin_, count in enumerate(each.counts):
            if not count:
                continue
            x, high = left + bin_ * step, max(1.5, _BAR * count / highest)
            place = {"x": x + 0.5, "x2": x + step - 0.5, "y": base - high, "y2": base}
            bars.append({**place, "fill": colours.hue(each.cell.mark), "stroke": "none"})
            if bin_ == each.counts.index(max(each.counts)):
                tops.append({"x": x + step / 2, "y": base - high - 8, "text": f"{count:,}"})
    layers = [
        boxes(bars),
        lines(bases),
        words([each for each in names if not each["bold"]]),
        words([each for each in names if each["bold"]], bold=True),
        words([each for each in ends if not each["right"]], colour=colours.THIRD),
        words([each for each in ends if each["right"]], "right", colour=colours.THIRD),
        words(tops, "center", colour=colours.SECOND),
    ]
    return framed(layers, width, -(-len(panels) // most) * _ROW, Margins(1, 1, 0, 0))
