"""Where answers were lost, as tables: by cell and by category, over questions and over groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness import numbers
from harness.losses import GROUPS, STAGES, losses, separable, share
from harness.records import LostAt
from harness.report.blocks import Cell, Fold, Mark, Measure, Table
from harness.report.phrases import listed
from harness.report.segmenting import FEW, ways
from harness.report.view import View
from harness.stored import CellLine, LossesLine, ShareLine

Lines = Mapping[str, LossesLine]
"""What each cell lost, by its name."""


@dataclass(frozen=True)
class _Row:
    name: str
    line: LossesLine
    stages: Collection[LostAt]
    mark: Mark | None = None


def lines(view: View) -> Lines:
    """Return what each cell lost: as the run says, else counted, as older runs do not say it."""
    found = {
        cell.name: cell.losses or losses(view.records(cell), view.stored.questions)
        for cell in view.cells
    }
    return {name: line for name, line in found.items() if line is not None}


def by_cell(view: View, found: Lines, kept: str) -> list[Table | Fold]:
    """Return what each cell lost: a table of questions, and one of groups of passages, folded.

    `kept` is what became of a question that was not lost.
    """
    rows = [
        _Row(view.name(cell), line, separable(cell, line), view.mark(cell))
        for cell in view.cells
        if (line := found.get(cell.name)) is not None
    ]
    return [_questions("Configuration", "", rows, kept), _groups("Configuration", "", rows)]


def by_category(view: View, cell: CellLine, line: LossesLine, kept: str) -> list[Table | Fold]:
    """Return the same of one cell by category; nothing where there are not two categories."""
    found = [way for way in ways(view.stored.questions.values()) if way.name == "Category"]
    if not found:
        return []
    stages, rows = separable(cell, line), []
    own = {record.question: record for record in view.records(cell)}
    for name, ids in found[0].segments.items():
        part = losses((own[id_] for id_ in ids if id_ in own), view.stored.questions)
        if part is not None and _attributed(part):
            few = " †" if _attributed(part) < FEW else ""
            rows.append(_Row(name + few, part, stages))
    of_cell = f", {view.name(cell)}"
    if not rows:
        return []
    return [_questions("Category", of_cell, rows, kept), _groups("Category", of_cell, rows)]


def left_out(view: View, found: Lines) -> str:
    """Say which stages no cell can lose anything at, or cannot tell from the next; "" if none."""
    there = {
        stage
        for cell in view.cells
        if cell.name in found
        for stage in separable(cell, found[cell.name])
    }
    gone = [stage for stage in STAGES if stage not in there]
    return f"Left out, as nothing can be seen to be lost there: {listed(gone)}." if gone else ""


def _questions(first: str, of_cell: str, rows: Sequence[_Row], kept: str) -> Table:
    stages = [stage for stage in STAGES if any(stage in row.stages for row in rows)]
    return Table(
        [first, "Questions", kept.capitalize(), *map(str.capitalize, stages)],
        [
            [
                row.name,
                f"{_attributed(row.line):,}",
                _cell(row.line.questions["none"]),
                *_lost(row, ((stage, row.line.questions[stage]) for stage in stages)),
            ]
            for row in rows
        ],
        f"Questions by the first stage that lost a passage they need{of_cell}",
        marks=[row.mark for row in rows],
        remarks=[_beside(row.line) for row in rows],
    )


def _groups(first: str, of_cell: str, rows: Sequence[_Row]) -> Fold:
    stages = [stage for stage in GROUPS if any(stage in row.stages for row in rows)]
    table: list[list[Cell]] = []
    for row in rows:
        each = row.line.groups
        of = each["chunking"].of
        arrived = share(max(0, of - sum(one.count for one in each.values())), of)
        table.append(
            [
                row.name,
                f"{of:,}",
                _cell(arrived),
                *_lost(row, ((stage, each[stage]) for stage in stages)),
            ]
        )
    head = [first, "Groups", "In the prompt", *map(str.capitalize, stages)]
    caption = f"Groups of passages by the stage that lost them{of_cell}"
    shown = Table(head, table, caption, marks=[row.mark for row in rows])
    return Fold("The same over groups of passages", [shown])


def _attributed(line: LossesLine) -> int:
    return line.questions["none"].of


def _lost(row: _Row, counted: Iterable[tuple[LostAt, ShareLine]]) -> Iterator[Cell]:
    for stage, line in counted:
        yield _cell(line) if stage in row.stages else numbers.MISSING


def _cell(line: ShareLine) -> Cell:
    if not line.of:
        return numbers.MISSING
    said = with_interval(line)
    return Measure(f"{line.count:,}", line.count / line.of, note=said, drawn=False)


def with_interval(line: ShareLine) -> str:
    """Return a share and its interval in whole percent: `58 % (50–65)`."""
    if line.low is None or line.high is None:
        return numbers.MISSING
    percent = numbers.percentage(line.count / line.of)
    return f"{percent} ({100 * line.low:.0f}–{100 * line.high:.0f})"


def _beside(line: LossesLine) -> str:
    """Say what is counted beside those that were attributed, and what was answered by luck."""
    counts = [
        (line.failed, "failed"),
        (line.unknown, "arrived, with nothing to say what is right"),
        (line.untold, "not told what was retrieved"),
        (line.without_evidence, "answered without all of the evidence"),
    ]
    return ", ".join(f"{count:,} {what}" for count, what in counts if count)
