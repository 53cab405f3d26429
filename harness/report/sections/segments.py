"""Segments: the same scores by category, difficulty, document and length of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness import numbers
from harness.report.blocks import Advice, Block, Measure, PerCell, Table, Text
from harness.report.phrases import measure
from harness.report.sections import sections
from harness.report.segmenting import FEW, Way, ways
from harness.report.view import Chosen, View
from harness.statistics.aggregate import Aggregate
from harness.stored import CellLine

_COLUMNS = 6
"""Metrics beside the deciding one."""
_STEPS = 9


@sections.register
@dataclass(frozen=True)
class Segments:
    """A heat map of segments and metrics, for each cell."""

    name: ClassVar[str] = "segments"
    order: ClassVar[int] = 40
    title: ClassVar[str] = "By segment"
    short: ClassVar[str] = "Segments"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a table a cell; nothing where nothing divides the questions."""
        found = ways(view.stored.questions.values())
        shown = view.focus
        if not found or shown is None:
            return []
        found.append(Way("All", {"all questions": frozenset(view.stored.questions)}))
        names = _metrics(view)
        parts = _parts(view, found)
        tables: list[list[Text | Table | Advice]] = [
            [*_said(view, cell, found[0], parts), _table(view, cell, found, names, parts)]
            for cell in view.cells
        ]
        cells = [view.name(cell) for cell in view.cells]
        return [
            PerCell(cells, tables, view.cells.index(shown)),
            Text(
                f"Means; the interval is that of {view.by}, n the questions it is over. A failed "
                f"question counts as 0. † fewer than {FEW} questions: read nothing into it.",
                "note",
            ),
        ]


Parts = Mapping[tuple[str, str, str], Aggregate]
"""The deciding metric by cell, way and segment."""


def _parts(view: View, found: Sequence[Way]) -> Parts:
    """Aggregate segment by segment, as cells share the draws of their intervals."""
    return {
        (cell.name, way.name, name): view.part(cell, view.by, segment)
        for way in found
        for name, segment in way.segments.items()
        for cell in view.cells
    }


def _metrics(view: View) -> list[str]:
    """Return the columns beside the deciding metric: of rankings, then of answers."""
    about = view.run.provenance.metrics
    wanted = [
        name
        for name in view.metrics
        if name != view.by
        and about[name].kind == "quality"
        and not any(view.copied(cell, name) for cell in view.cells)
    ]
    if len(wanted) < _COLUMNS:
        return wanted
    return [wanted[at * (len(wanted) - 1) // (_COLUMNS - 1)] for at in range(_COLUMNS)]


def _said(view: View, cell: CellLine, way: Way, parts: Parts) -> list[Text]:
    """Say in which part of the first way to divide the questions the cell is weakest, strongest."""
    means = {
        name: part.mean
        for name in way.segments
        if (part := parts[cell.name, way.name, name]).mean is not None and part.n >= FEW
    }
    if len(means) < 2:
        return []
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    weak, strong = (numbers.score(means[each], view.digits(view.by)) for each in (low, high))
    name = view.name(cell)
    if weak == strong:
        return []
    return [
        Text(f"{name} is weakest on {low} ({view.by} {weak}) and strongest on {high} ({strong}).")
    ]


def _table(
    view: View, cell: CellLine, found: Sequence[Way], names: Sequence[str], parts: Parts
) -> Table:
    rows: list[list[str | Measure]] = []
    for way in found:
        more = f", {numbers.count(way.left_out, 'other')} not shown" if way.left_out else ""
        rows.append([f"{way.name}{more}"])
        for name, segment in way.segments.items():
            part = parts[cell.name, way.name, name]
            if not part.n:
                continue
            few = " †" if part.n < FEW else ""
            ends = measure(part, digits=view.digits(view.by)).interval
            chosen = view.among(cell, segment)
            shades = [_shaded(view, cell, metric, chosen) for metric in names]
            mean = _shade(view, view.by, part.mean)
            rows.append([name + few, f"{part.n:,}", ends, mean, *shades])
        if len(rows[-1]) == 1:
            rows.pop()
    head = ["Segment", "n", "95 % interval", view.by, *names]
    return Table(head, rows, f"Mean by segment, {view.name(cell)}")


def _shaded(view: View, cell: CellLine, metric: str, chosen: Chosen) -> str | Measure:
    values = view.column(cell, metric)
    known = values[chosen & ~np.isnan(values)]
    return _shade(view, metric, float(known.mean()) if len(known) else None)


def _shade(view: View, metric: str, mean: float | None) -> str | Measure:
    if mean is None:
        return numbers.MISSING
    shade = min(int(mean * _STEPS), _STEPS - 1)
    return Measure(numbers.score(mean, view.digits(metric)), mean, shade=shade)
