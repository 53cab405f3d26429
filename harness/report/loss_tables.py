"""Tables of the stage at which answers were lost, by cell and by category."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.records import LostAt
from harness.report.document import Cell, Fold, Mark, Measure, TableBlock
from harness.report.phrases import join_names
from harness.report.run_view import View
from harness.report.segment_groups import MIN_QUESTIONS, list_divisions
from harness.runs.aggregate import (
    QUESTION_STAGES,
    count_losses,
    gives_answers,
    separable_stages,
    share_of,
)
from harness.store.cell_results import CellResult, LossCounts, Share
from harness.store.frame import GROUP_STAGES
from harness.text import numbers

Lines = Mapping[str, LossCounts]
"""What each cell lost, by its name."""


@dataclass(frozen=True)
class _Row:
    name: str
    line: LossCounts
    stages: Collection[LostAt]
    success: str
    mark: Mark | None = None


def losses_by_cell(view: View) -> Lines:
    """Return what each cell lost."""
    lines = {cell.name: losses_of(view, cell) for cell in view.cells}
    return {name: line for name, line in lines.items() if line is not None}


def losses_of(view: View, cell: CellResult) -> LossCounts | None:
    """Return what a cell lost: as the run says, else counted, as older runs do not say it."""
    return cell.losses or count_losses(view.frame(cell), view.asked)


def by_side(sides: Sequence[tuple[str, View, CellResult]]) -> list[TableBlock | Fold]:
    """Return what cells of several runs lost, each under a name; nothing unless all are known."""
    rows = [
        _Row(name, line, stages(view, cell, line), success_word(view, cell))
        for name, view, cell in sides
        if (line := losses_of(view, cell)) is not None
    ]
    if len(rows) < len(sides):
        return []
    return [_question_table("Side", "", rows), _group_table("Side", "", rows)]


def success_word(view: View, cell: CellResult) -> str:
    """Return what became of a question that a cell did not lose: there may be no answers."""
    return "answered" if gives_answers(cell, view.frame(cell)) else "delivered"


def stages(view: View, cell: CellResult, line: LossCounts) -> list[LostAt]:
    """Return the stages of a cell that can be told from their neighbours."""
    return separable_stages(cell, line, gives_answers(cell, view.frame(cell)))


def by_cell(view: View, lines: Lines) -> list[TableBlock | Fold]:
    """Return what each cell lost: a table of questions, and one of groups of passages, folded."""
    rows = [
        _Row(
            view.name(cell),
            line,
            stages(view, cell, line),
            success_word(view, cell),
            view.mark(cell),
        )
        for cell in view.cells
        if (line := lines.get(cell.name)) is not None
    ]
    return [_question_table("Configuration", "", rows), _group_table("Configuration", "", rows)]


def by_category(view: View, cell: CellResult, line: LossCounts) -> list[TableBlock | Fold]:
    """Return the same of one cell by category; nothing where there are not two categories."""
    category_divisions = [
        way for way in list_divisions(view.stored.questions.values()) if way.name == "Category"
    ]
    if not category_divisions:
        return []
    cell_stages, success, rows = stages(view, cell, line), success_word(view, cell), []
    for name, ids in category_divisions[0].segments.items():
        part = count_losses(
            view.frame(cell).at(np.flatnonzero(view.mask_of(cell, ids))), view.asked
        )
        if part is not None and _attributed_count(part):
            few = " †" if _attributed_count(part) < MIN_QUESTIONS else ""
            rows.append(_Row(name + few, part, cell_stages, success))
    of_cell = f", {view.name(cell)}"
    if not rows:
        return []
    return [_question_table("Category", of_cell, rows), _group_table("Category", of_cell, rows)]


def describe_left_out(view: View, lines: Lines) -> str:
    """Say which stages no cell can lose anything at, or cannot tell from the next; "" if none."""
    seen_stages = {
        stage
        for cell in view.cells
        if cell.name in lines
        for stage in stages(view, cell, lines[cell.name])
    }
    unseen_stages = [stage for stage in QUESTION_STAGES if stage not in seen_stages]
    return (
        f"Left out, as nothing can be seen to be lost there: {join_names(unseen_stages)}."
        if unseen_stages
        else ""
    )


def _question_table(first: str, of_cell: str, rows: Sequence[_Row]) -> TableBlock:
    seen = [stage for stage in QUESTION_STAGES if any(stage in row.stages for row in rows)]
    ends = sorted({row.success for row in rows})
    return TableBlock(
        [first, "Questions", *map(str.capitalize, [*ends, *seen])],
        [
            [
                row.name,
                f"{_attributed_count(row.line):,}",
                *(_success_cell(row) if end == row.success else numbers.MISSING for end in ends),
                *_lost_cells(row, ((stage, row.line.questions[stage]) for stage in seen)),
            ]
            for row in rows
        ],
        f"Questions by the first stage that lost a passage they need{of_cell}",
        marks=[row.mark for row in rows],
        remarks=[_remark(row.line) for row in rows],
    )


def _group_table(first: str, of_cell: str, rows: Sequence[_Row]) -> Fold:
    seen = [stage for stage in GROUP_STAGES if any(stage in row.stages for row in rows)]
    table: list[list[Cell]] = []
    for row in rows:
        groups = row.line.groups
        of = groups["chunking"].of
        arrived = share_of(max(0, of - sum(one.count for one in groups.values())), of)
        table.append(
            [
                row.name,
                f"{of:,}",
                _share_cell(arrived),
                *_lost_cells(row, ((stage, groups[stage]) for stage in seen)),
            ]
        )
    head = [first, "Groups", "In the prompt", *map(str.capitalize, seen)]
    caption = f"Groups of passages by the stage that lost them{of_cell}"
    block = TableBlock(head, table, caption, marks=[row.mark for row in rows])
    return Fold("The same over groups of passages", [block], aside=True)


def _attributed_count(line: LossCounts) -> int:
    return line.questions["none"].of


def _success_cell(row: _Row) -> Cell:
    return _share_cell(row.line.questions["none"])


def _lost_cells(row: _Row, counted: Iterable[tuple[LostAt, Share]]) -> Iterator[Cell]:
    for stage, line in counted:
        yield _share_cell(line) if stage in row.stages else numbers.MISSING


def _share_cell(line: Share) -> Cell:
    if not line.of:
        return numbers.MISSING
    interval = format_share(line)
    return Measure(f"{line.count:,}", line.count / line.of, note=interval, drawn=False)


def format_share(line: Share) -> str:
    """Return a share and its interval in whole percent: `58 % (50–65)`."""
    if line.low is None or line.high is None:
        return numbers.MISSING
    percent = numbers.percentage(line.count / line.of)
    return f"{percent} ({100 * line.low:.0f}–{100 * line.high:.0f})"


def _remark(line: LossCounts) -> str:
    """Say what is counted beside those that were attributed, and what was answered by luck."""
    counts = [
        (line.failed, "failed"),
        (line.unknown, "arrived, with nothing to say what is right"),
        (line.untold, "not told what was retrieved"),
        (line.without_evidence, "answered without all of the evidence"),
    ]
    return ", ".join(f"{count:,} {label}" for count, label in counts if count)
