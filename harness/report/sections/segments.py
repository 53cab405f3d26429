"""Segments: the same scores by category, difficulty, document and length of the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harness import numbers
from harness.report.blocks import Block, Measure, PerCell, Table, Text
from harness.report.sections import sections
from harness.report.segmenting import FEW, Way, ways
from harness.report.view import Chosen, Floats, View
from harness.stored import CellLine

_COLUMNS = 8
_STEPS = 9


@sections.register
@dataclass(frozen=True)
class Segments:
    """A heat map of segments and metrics, for each cell."""

    name: ClassVar[str] = "segments"
    order: ClassVar[int] = 40
    title: ClassVar[str] = "By segment"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a table a cell; nothing where nothing divides the questions."""
        found = ways(view.stored.questions.values())
        shown = view.shipped or next(iter(view.cells), None)
        if not found or shown is None:
            return []
        names = _metrics(view)
        tables = [
            [*_said(view, cell, found), _table(view, cell, found, names)] for cell in view.cells
        ]
        cells = [view.name(cell) for cell in view.cells]
        return [
            PerCell(cells, tables, view.cells.index(shown)),
            Text(
                f"Darker is higher. n: the questions with a {view.by}; a failed one counts as 0. "
                f"† fewer than {FEW} questions: read nothing into it.",
                "note",
            ),
        ]


def _metrics(view: View) -> list[str]:
    """Return the columns: the deciding metric, then those of rankings, then those of answers."""
    about = view.run.provenance.metrics
    wanted = [
        name
        for name in view.metrics
        if about[name].kind == "quality" and not any(view.copied(c, name) for c in view.cells)
    ]
    return wanted[:1] + _spread(wanted[1:], _COLUMNS - 1)


def _spread(names: Sequence[str], count: int) -> list[str]:
    """Return at most `count` of the names, taken evenly from first to last."""
    if len(names) <= count:
        return list(names)
    return [names[at * (len(names) - 1) // (count - 1)] for at in range(count)]


def _said(view: View, cell: CellLine, found: Sequence[Way]) -> list[Text]:
    """Say in which part of the first way to divide the questions the cell is weakest, strongest."""
    means = {
        name: float(known.mean())
        for name, segment in found[0].segments.items()
        if len(known := _known(view.column(cell, view.by), view.among(cell, segment))) >= FEW
    }
    if len(means) < 2:
        return []
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    weak, strong = (numbers.score(means[each], view.digits(view.by)) for each in (low, high))
    name = view.name(cell)
    return [
        Text(f"{name} is weakest on {low} ({view.by} {weak}) and strongest on {high} ({strong}).")
    ]


def _table(view: View, cell: CellLine, found: Sequence[Way], names: Sequence[str]) -> Table:
    everything = frozenset(record.question for record in view.records(cell))
    rows: list[list[str | Measure]] = []
    for way in (*found, Way("All", {"all questions": everything})):
        more = f", {numbers.count(way.left_out, 'other')} not shown" if way.left_out else ""
        rows.append([f"{way.name}{more}"])
        for name, segment in way.segments.items():
            chosen = view.among(cell, segment)
            counted = len(_known(view.column(cell, view.by), chosen))
            if counted:
                few = " †" if counted < FEW else ""
                shades = [_shaded(view, cell, metric, chosen) for metric in names]
                rows.append([name + few, f"{counted:,}", *shades])
    return Table(["Segment", "n", *names], rows, f"Mean by segment, {view.name(cell)}")


def _shaded(view: View, cell: CellLine, metric: str, chosen: Chosen) -> str | Measure:
    known = _known(view.column(cell, metric), chosen)
    if not len(known):
        return numbers.MISSING
    mean = float(known.mean())
    shade = min(int(mean * _STEPS), _STEPS - 1)
    return Measure(numbers.score(mean, view.digits(metric)), mean, shade=shade)


def _known(values: Floats, chosen: Chosen) -> Floats:
    return values[chosen & ~np.isnan(values)]
