"""Segments: the same scores by category and by difficulty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from harness.report.blocks import Block, Measure, Table, Text
from harness.report.sections import sections
from harness.report.view import View, counts, measure
from harness.stored import QuestionLine

_FEW = 5


@sections.register
@dataclass(frozen=True)
class Segments:
    """The deciding metric, and abstention, for each kind of question."""

    name: ClassVar[str] = "segments"
    order: ClassVar[int] = 40
    title: ClassVar[str] = "By category and difficulty"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return a table for each way to divide the questions that divides them at all."""
        if not view.run.cells:
            return []
        ways: list[tuple[str, Callable[[QuestionLine], str | None]]] = [
            ("Category", lambda question: question.category),
            ("Difficulty", lambda question: question.difficulty),
        ]
        wanted = [view.by, *(name for name in view.metrics if name == "abstention")]
        said: list[Block] = []
        for metric in dict.fromkeys(wanted):
            for title, segment in ways:
                table = _table(view, metric, title, segment)
                if table is not None:
                    said.append(table)
        if said:
            said.append(Text(f"† fewer than {_FEW} questions: read nothing into it.", "note"))
        return said


def _table(
    view: View, metric: str, title: str, segment: Callable[[QuestionLine], str | None]
) -> Table | None:
    names = dict.fromkeys(filter(None, map(segment, view.stored.questions.values())))
    if len(names) < 2:
        return None
    rows: list[list[str | Measure]] = []
    for name in names:
        wanted = partial(_is_in, segment, name)
        parts = [view.among(cell, metric, wanted) for cell in view.cells]
        if not any(part.n for part in parts):
            continue
        few = " †" if max(part.n for part in parts) < _FEW else ""
        said = {counts(part) for part in parts}
        alike = f" ({said.pop()})" if len(said) == 1 else ""
        marked = view.marked(view.cells, parts, metric)
        shown = [
            measure(part, best, "" if alike else counts(part))
            for part, best in zip(parts, marked, strict=True)
        ]
        rows.append([name + alike + few, *shown])
    return Table([title, *(view.name(cell) for cell in view.cells)], rows, metric)


def _is_in(
    segment: Callable[[QuestionLine], str | None], name: str, question: QuestionLine
) -> bool:
    return segment(question) == name
