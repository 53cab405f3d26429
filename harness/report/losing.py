"""Where answers were lost, as tables: by cell and by category, over questions and over groups."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness import numbers
from harness.losses import GROUPS, STAGES, answers, losses, separable, share
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
    kept: str
    mark: Mark | None = None


def lines(view: View) -> Lines:
    """Return what each cell lost: as the run says, else counted, as older runs do not say it."""
    found = {
        cell.name: cell.losses or losses(view.records(cell), view.stored.questions)
        for cell in view.cells
    }
    return {name: line for name, line in found.items() if line is not None}


def kept(view: View, cell: CellLine) -> str:
    """Return what became of a question that a cell did not lose: there may be no answers."""
    return "answered" if answers(cell, view.records(cell)) else "delivered"


def stages(view: View, cell: CellLine, line: LossesLine) -> list[LostAt]:
    """Return the stages of a cell that can be told from their neighbours."""
    return separable(cell, line, answers(cell, view.records(cell)))


def by_cell(view: View, found: Lines) -> list[Table | Fold]:
    """Return what each cell lost: a table of questions, and one of groups of passages, folded."""
    rows = [
        _Row(view.name(cell), line, stages(view, cell, line), kept(view, cell), view.mark(cell))
        for cell in view.cells
        if (line := found.get(cell.name)) is not None
    ]
    return [_questions("Configuration", "", rows), _groups("Configuration", "", rows)]


def by_category(view: View, cell: CellLine, line: LossesLine) -> list[Table | Fold]:
    """Return the same of one cell by category; nothing where there are not two categories."""
    found = [way for way in ways(view.stored.questions.values()) if way.name == "Category"]
    if not found:
        return []
    there, end, rows = stages(view, cell, line), kept(view, cell), []
    for name, ids in found[0].segments.items():
        some = view.stored.some(view.places(cell)[view.among(cell, ids)])
        part = losses(some, view.stored.questions)
        if part is not None and _attributed(part):
            few = " †" if _attributed(part) < FEW else ""
            rows.append(_Row(name + few, part, there, end))
    of_cell = f", {view.name(cell)}"
    if not rows:
        return []
    return [_questions("Category", of_cell, rows), _groups("Category", of_cell, rows)]


def left_out(view: View, found: Lines) -> str:
    """Say which stages no cell can lose anything at, or cannot tell from the next; "" if none."""
    there = {
        stage
        for cell in view.cells
        if cell.name in found
        for stage in stages(view, cell, found[cell.name])
    }
    gone = [stage for stage in STAGES if stage not in there]
    return f"Left out, as nothing can be seen to be lost there: {listed(gone)}." if gone else ""


def _questions(first: str, of_cell: str, rows: Sequence[_Row]) -> Table:
    seen = [stage for stage in STAGES if any(stage in row.stages for row in rows)]
    ends = sorted({row.kept for row in rows})
    return Table(
        [first, "Questions", *map(str.capitalize, [*ends, *seen])],
        [
            [
                row.name,
                f"{_attributed(row.line):,}",
                *(_end(row) if end == row.kept else numbers.MISSING for end in ends),
                *_lost(row, ((stage, row.line.questions[stage]) for stage in seen)),
            ]
            for row in rows
        ],
        f"Questions by the first stage that lost a passage they need{of_cell}",
        marks=[row.mark for row in rows],
        remarks=[_beside(row.line) for row in rows],
    )


def _groups(first: str, of_cell: str, rows: Sequence[_Row]) -> Fold:
    seen = [stage for stage in GROUPS if any(stage in row.stages for row in rows)]
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
                *_lost(row, ((stage, each[stage]) for stage in seen)),
            ]
        )
    head = [first, "Groups", "In the prompt", *map(str.capitalize, seen)]
    caption = f"Groups of passages by the stage that lost them{of_cell}"
    shown = Table(head, table, caption, marks=[row.mark for row in rows])
    return Fold("The same over groups of passages", [shown], aside=True)


def _attributed(line: LossesLine) -> int:
    return line.questions["none"].of


def _end(row: _Row) -> Cell:
    return _cell(row.line.questions["none"])


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
