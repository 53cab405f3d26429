"""Segments: the same scores by category, difficulty, document and length of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

import numpy as np

from harness.report.document import Block, Fold, Measure, Paragraph, PerCell, TableBlock
from harness.report.phrases import measure
from harness.report.run_view import MIN_QUESTIONS, Division, View
from harness.report.sections import section
from harness.stats.aggregate_scores import Aggregate
from harness.store.cell_results import CellResult
from harness.text import numbers

_MAX_METRICS = 6
"""Metrics beside the deciding one."""
_SHADES = 9
_LOOKED_UP = "Document"
"""The division that is folded: it has the most rows, and says the least about the next one."""


@section("segments", 40, "By segment", "Segments", attrgetter("divisions"))
def blocks(view: View) -> Sequence[Block]:
    """Return a table a cell; nothing where nothing divides the questions."""
    divisions = [*view.divisions]
    focus = view.focus
    if focus is None:
        return []
    divisions.append(Division("All", {"all questions": frozenset(view.stored.questions)}))
    names = _metrics(view)
    # Segment by segment, as cells share the draws of their intervals.
    parts = {
        (cell.name, way.name, name): view.aggregate_of(cell, view.by, segment)
        for way in divisions
        for name, segment in way.segments.items()
        for cell in view.cells
    }
    read = [way for way in divisions if way.name != _LOOKED_UP]
    tables: list[list[Block]] = []
    for cell in view.cells:
        heat_map = _table(view, cell, read, names, parts)
        tables.append([*_describe_extremes(view, cell, divisions[0], parts), heat_map])
        for way in divisions:
            if way.name == _LOOKED_UP:
                title = f"By document: {len(way.segments)} of {len(way.segments) + way.left_out}"
                tables[-1].append(Fold(title, [_table(view, cell, [way], names, parts)]))
    cells = [view.name(cell) for cell in view.cells]
    return [
        PerCell(cells, tables, view.cells.index(focus)),
        Paragraph(
            f"Means; the interval is that of {view.by}, n the questions it is over. A failed "
            f"question counts as 0. † fewer than {MIN_QUESTIONS} questions: "
            "read nothing into it.",
            "note",
        ),
    ]


Parts = Mapping[tuple[str, str, str], Aggregate]
"""The deciding metric by cell, way and segment."""


def _metrics(view: View) -> list[str]:
    """Return the columns beside the deciding metric: of rankings, then of answers."""
    about = view.run.provenance.metrics
    names = [
        name
        for name in view.metrics
        if name != view.by
        and about[name].kind == "quality"
        and not any(view.is_copied(cell, name) for cell in view.cells)
    ]
    if len(names) < _MAX_METRICS:
        return names
    return [
        names[number * (len(names) - 1) // (_MAX_METRICS - 1)] for number in range(_MAX_METRICS)
    ]


def _describe_extremes(
    view: View, cell: CellResult, way: Division, parts: Parts
) -> list[Paragraph]:
    """Say in which part of the first way to divide the questions the cell is weakest, strongest."""
    means = {
        name: part.mean
        for name in way.segments
        if (part := parts[cell.name, way.name, name]).mean is not None and part.n >= MIN_QUESTIONS
    }
    if len(means) < 2:
        return []
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    weak, strong = (numbers.score(means[segment], view.digits(view.by)) for segment in (low, high))
    name = view.name(cell)
    if weak == strong:
        return []
    return [
        Paragraph(
            f"{name} is weakest on {low} ({view.by} {weak}) and strongest on {high} ({strong})."
        )
    ]


def _table(
    view: View, cell: CellResult, divisions: Sequence[Division], names: Sequence[str], parts: Parts
) -> TableBlock:
    rows: list[list[str | Measure]] = []
    for way in divisions:
        if len(divisions) > 1:
            more = f", {numbers.count(way.left_out, 'other')} not shown" if way.left_out else ""
            rows.append([f"{way.name}{more}"])
        for name, segment in way.segments.items():
            part = parts[cell.name, way.name, name]
            if not part.n:
                continue
            few = " †" if part.n < MIN_QUESTIONS else ""
            ends = measure(part, digits=view.digits(view.by)).interval
            chosen = view.mask_of(cell, segment)
            columns = {metric: view.column(cell, metric)[chosen] for metric in names}
            finite = {metric: values[~np.isnan(values)] for metric, values in columns.items()}
            means = {metric: float(v.mean()) if len(v) else None for metric, v in finite.items()}
            shades = [_shade(view, *pair) for pair in {view.by: part.mean, **means}.items()]
            rows.append([name + few, numbers.whole(part.n), ends, *shades])
        if rows and len(rows[-1]) == 1:
            rows.pop()
    what = "segment" if len(divisions) > 1 else divisions[0].name.lower()
    head = [what.capitalize(), "n", "95 % interval", view.by, *names]
    return TableBlock(head, rows, f"Mean by {what}, {view.name(cell)}")


def _shade(view: View, metric: str, mean: float | None) -> str | Measure:
    if mean is None:
        return numbers.MISSING
    shade = min(int(mean * _SHADES), _SHADES - 1)
    return Measure(numbers.score(mean, view.digits(metric)), mean, shade=shade)
