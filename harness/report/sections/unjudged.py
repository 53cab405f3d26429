"""Results nobody judged: how far labels reach, and what the scores could be without the holes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness import numbers
from harness.report.blocks import Block, Cell, Measure, Table, Text
from harness.report.charts import cells
from harness.report.phrases import listed
from harness.report.sections import sections
from harness.report.unjudged import Ends, Unjudged
from harness.report.view import View
from harness.stored import CellLine

_WIDTH = 4
"""Columns of figures in one table."""
_NAMED = 2
"""Cells that a sentence names; of more, how many they are is said."""


@sections.register
@dataclass(frozen=True)
class Holes:
    """The share judged, exact bounds where there are any, and two scenarios for the others."""

    name: ClassVar[str] = "unjudged"
    order: ClassVar[int] = 49
    title: ClassVar[str] = "Results nobody judged"
    short: ClassVar[str] = "Unjudged"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the tables; nothing where all that the metrics read is judged."""
        found = Unjudged(view)
        if not found.open:
            return []
        said: list[Block] = [Text(_how_far(view, found), "plain"), _judged(view, found)]
        bounded, guessed = found.of_form("bounds"), found.of_form("scenarios")
        if bounded:
            said += _bounds(view, found, bounded)
        if guessed:
            said += _scenarios(view, found, guessed)
        if view.by in found.open and len(view.cells) > 1:
            said += _order(view, found)
        k = max(found.depths)
        remedy = (
            f"python -m harness pool RUN --k {k} -o pool.csv writes these documents for people to "
            "judge, and python -m harness import labels reads what they judged back."
        )
        return [*said, Text(remedy, "note")]


def _name(view: View, cell: CellLine) -> str:
    return cells.short(view.name(cell))


def _how_far(view: View, found: Unjudged) -> str:
    """Say how much is judged, and which cell is worse off by it."""
    own = [k for k in found.depths if view.by in found.open and view.by.endswith(f"@{k}")]
    k = own[0] if own else found.depths[0]
    shares = [(share, cell) for cell in view.cells if (share := found.judged(cell, k)) is not None]
    counted = "What nobody judged counts as not relevant"
    if not shares:
        return f"{counted}."
    low, worst = min(shares, key=lambda each: each[0])
    high, most = max(shares, key=lambda each: each[0])
    if found.relevant_only:
        between = " to ".join(dict.fromkeys(map(numbers.percentage, (low, high))))
        return (
            f"Of the top {k} documents {between} are judged. The labels name relevant documents "
            "only: a low share may be a poor ranking, or labels that do not reach. "
            f"{counted}."
        )
    if len(shares) == 1:
        return f"Of the top {k} documents {numbers.percentage(low)} are judged. {counted}."
    least, greatest = numbers.percentage(low), numbers.percentage(high)
    if least == greatest:
        return (
            f"Of the top {k} documents {least} are judged in every configuration: none is at a "
            f"disadvantage. {counted}."
        )
    return (
        f"Of the top {k} documents {least} are judged with {_name(view, worst)}, "
        f"and {greatest} with {_name(view, most)}. {counted}, so that "
        f"{_name(view, worst)} is at a disadvantage: its scores may be lower than it deserves."
    )


def _judged(view: View, found: Unjudged) -> Table:
    depths = found.depths
    rows: list[list[Cell]] = []
    for cell in view.cells:
        shares = [found.judged(cell, k) for k in depths]
        shown = [numbers.MISSING if each is None else numbers.percentage(each) for each in shares]
        rows.append([view.name(cell), *map(Measure, shown, shares)])
    head = ["Configuration", *(f"judged@{k}" for k in depths)]
    return _table(view, head, rows, "Share of the top k documents that somebody judged")


def _bounds(view: View, found: Unjudged, names: Sequence[str]) -> list[Block]:
    said = Text(
        "From the mean as scored to the mean if all documents that nobody judged in the top k are "
        "relevant. No judgement of them leads outside.",
        "note",
        label="Exact bounds.",
    )
    return [said, *_both_ends(view, found, names, "to", "What each mean could be")]


def _scenarios(view: View, found: Unjudged, names: Sequence[str]) -> list[Block]:
    said = Text(
        "With all documents that nobody judged irrelevant, which is as scored; or with all that "
        "any configuration has in its top k relevant, at the lowest relevant grade, and added to "
        "the inventory that all configurations share. These are no bounds: other judgements can "
        "give less than both, or more. Relevant documents outside every pool would lower recall "
        "further.",
        "note",
        label="Two scenarios.",
    )
    return [said, *_both_ends(view, found, names, "or", "All irrelevant, or all relevant")]


def _both_ends(
    view: View, found: Unjudged, names: Sequence[str], between: str, caption: str
) -> list[Table]:
    """Return tables of both ends of each mean."""
    tables = []
    for start in range(0, len(names), _WIDTH):
        part = names[start : start + _WIDTH]
        ends = {name: [found.ends(cell, name) for cell in view.cells] for name in part}
        rows: list[list[Cell]] = [[view.name(cell)] for cell in view.cells]
        for name in part:
            for row, each in zip(rows, ends[name], strict=True):
                row.append(_two(each, between, view.digits(name)))
        notes = ["", *(_resting(ends[name]) for name in part)]
        tables.append(_table(view, ["Configuration", *part], rows, caption, notes))
    return tables


def _two(ends: Ends | None, between: str, digits: int) -> Measure:
    if ends is None:
        return Measure(numbers.MISSING)
    low, high = (numbers.score(each, digits) for each in (ends.irrelevant, ends.relevant))
    return Measure(f"{low} {between} {high}", ends.irrelevant)


def _order(view: View, found: Unjudged) -> list[Block]:
    """Say whether the best cell by the deciding metric could be another."""
    best = view.best
    if best is None:
        return []
    name, by = _name(view, best), view.by
    rivals = [_name(view, cell) for cell in found.contenders]
    if len(rivals) > _NAMED:
        rivals = [f"one of {len(rivals)} others"]
    if by not in found.of_form("bounds"):
        if rivals:
            ahead = f"{listed(rivals)} would then be ahead of {name} by {by}."
            return [Text(f"With all of them relevant, {ahead}", "warning", label="The order.")]
        said = f"{name} has the highest {by} in both scenarios; other judgements may change that."
        return [Text(said, "plain", label="The order.")]
    rows: list[list[Cell]] = [
        [
            view.name(each.other),
            numbers.difference(each.scored, 3),
            numbers.difference(each.least, 3),
            numbers.difference(each.most, 3),
            each.said,
        ]
        for each in found.leads
    ]
    head = [f"{name} minus", "as scored", "at least", "at most", f"{name} is"]
    table = Table(head, rows, f"Difference in mean {by} under every judgement", cards=True)
    if not rivals:
        said = f"No judgement puts another configuration ahead of {name} by {by}."
        return [Text(said, "plain", label="The order."), table]
    said = f"Whether {name} or {listed(rivals)} is ahead by {by} is open until more is judged."
    return [Text(said, "warning", label="The order."), table]


def _resting(ends: Sequence[Ends | None]) -> str:
    sizes = sorted({each.n for each in ends if each is not None})
    return " or ".join(f"n = {size:,}" for size in sizes)


def _table(
    view: View,
    head: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    caption: str,
    notes: Sequence[str] = (),
) -> Table:
    marks = [view.mark(cell) for cell in view.cells]
    return Table(head, rows, caption, notes, sortable=len(rows) > 1, cards=True, marks=marks)
