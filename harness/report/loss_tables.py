"""Tables of the stage at which answers were lost, by cell and by category."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.records import LostAt
from harness.report.document import Cell, Fold, Mark, Measure, TableBlock
from harness.report.phrases import join_names
from harness.report.run_view import MIN_QUESTIONS, View, list_divisions
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

    def cells(self, counted: Iterable[tuple[LostAt, Share]]) -> Iterator[Cell]:
        """Yield what was lost at each stage; a dash where it may have been lost at the next."""
        for stage, share in counted:
            yield _share_cell(share) if stage in self.stages else numbers.MISSING


def losses_by_cell(view: View) -> Lines:
    """Return what each cell lost."""
    lines = {cell.name: _losses_of(view, cell) for cell in view.cells}
    return {name: line for name, line in lines.items() if line is not None}


def _losses_of(view: View, cell: CellResult) -> LossCounts | None:
    """Return what a cell lost: as the run says, else counted, as runs of systems do not say it."""
    return cell.losses or count_losses(view.frame(cell), view.asked)


def by_side(sides: Sequence[tuple[str, View, CellResult]]) -> list[TableBlock | Fold]:
    """Return what cells of several runs lost, each under a name; nothing unless all are known."""
    rows = [_row(view, cell, _losses_of(view, cell), name) for name, view, cell in sides]
    return _tables("Side", "", [row for row in rows if row is not None]) if all(rows) else []


def by_cell(view: View, lines: Lines) -> list[TableBlock | Fold]:
    """Return what each cell lost: a table of questions, and one of groups of passages, folded."""
    rows = [
        _row(view, cell, lines.get(cell.name), view.name(cell), view.mark(cell))
        for cell in view.cells
    ]
    return _tables("Configuration", "", [row for row in rows if row is not None])


def by_category(view: View, cell: CellResult, line: LossCounts) -> list[TableBlock | Fold]:
    """Return the same of one cell by category; nothing where there are not two categories."""
    rows = []
    for way in list_divisions(view.stored.questions.values()):
        for name, ids in way.segments.items() if way.name == "Category" else ():
            places = np.flatnonzero(view.mask_of(cell, ids))
            part = count_losses(view.frame(cell).at(places), view.asked)
            if part is not None and (count := part.questions["none"].of):
                label = f"{name} †" if count < MIN_QUESTIONS else name
                rows.append(_Row(label, part, stages(view, cell, line), success_word(view, cell)))
    return _tables("Category", f", {view.name(cell)}", rows) if rows else []


def _row(
    view: View, cell: CellResult, line: LossCounts | None, name: str, mark: Mark | None = None
) -> _Row | None:
    if line is None:
        return None
    return _Row(name, line, stages(view, cell, line), success_word(view, cell), mark)


def success_word(view: View, cell: CellResult) -> str:
    """Return what became of a question that a cell did not lose: there may be no answers."""
    return "answered" if gives_answers(cell, view.frame(cell)) else "delivered"


def stages(view: View, cell: CellResult, line: LossCounts) -> list[LostAt]:
    """Return the stages of a cell that can be distinguished from their neighbours."""
    return separable_stages(cell, line, gives_answers(cell, view.frame(cell)))


def describe_left_out(view: View, lines: Lines) -> str:
    """Say which stages no cell can lose anything at, or cannot tell from the next; "" if none."""
    seen = {
        stage
        for cell in view.cells
        if cell.name in lines
        for stage in stages(view, cell, lines[cell.name])
    }
    unseen = join_names([stage for stage in QUESTION_STAGES if stage not in seen])
    return f"Left out, as nothing can be seen to be lost there: {unseen}." if unseen else ""


def _tables(first: str, of_cell: str, rows: Sequence[_Row]) -> list[TableBlock | Fold]:
    """Return a table of questions, and behind a fold one of groups of passages."""
    seen = [stage for stage in QUESTION_STAGES if any(stage in row.stages for row in rows)]
    group_stages = [stage for stage in GROUP_STAGES if any(stage in row.stages for row in rows)]
    ends = sorted({row.success for row in rows})
    questions: list[list[Cell]] = []
    groups: list[list[Cell]] = []
    for row in rows:
        answered = row.line.questions["none"]
        found = [_share_cell(answered) if row.success == end else numbers.MISSING for end in ends]
        counts = row.cells((stage, row.line.questions[stage]) for stage in seen)
        questions.append([row.name, numbers.whole(answered.of), *found, *counts])
        shares = row.line.groups
        of = shares["chunking"].of
        arrived = share_of(max(0, of - sum(share.count for share in shares.values())), of)
        counts = row.cells((stage, shares[stage]) for stage in group_stages)
        groups.append([row.name, numbers.whole(of), _share_cell(arrived), *counts])
    marks = [row.mark for row in rows]
    return [
        TableBlock(
            [first, "Questions", *map(str.capitalize, [*ends, *seen])],
            questions,
            f"Questions by the first stage that lost a passage they need{of_cell}",
            marks=marks,
            remarks=[_remark(row.line) for row in rows],
        ),
        Fold(
            "The same over groups of passages",
            [
                TableBlock(
                    [first, "Groups", "In the prompt", *map(str.capitalize, group_stages)],
                    groups,
                    f"Groups of passages by the stage that lost them{of_cell}",
                    marks=marks,
                )
            ],
            aside=True,
        ),
    ]


def _share_cell(share: Share) -> Cell:
    if not share.of:
        return numbers.MISSING
    return Measure(
        numbers.whole(share.count), share.count / share.of, note=format_share(share), drawn=False
    )


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
        (line.untold, "what was retrieved is not reported"),
        (line.without_evidence, "answered without all of the evidence"),
    ]
    return ", ".join(f"{count:,} {label}" for count, label in counts if count)
