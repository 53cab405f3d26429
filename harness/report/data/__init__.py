"""Data: what the question browser reads, packed so that it fits into the page.

An index that is read at once, and compressed parts that are unpacked on demand: `page/data.js` is
their only reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from harness.report.data.indexed import index
from harness.report.data.packing import embeddable, packed, short
from harness.report.data.records import FAILED, STAGES, STATES, Page
from harness.report.data.room import ROOM, left_out
from harness.report.data.stretches import stretches
from harness.report.view import View
from harness.stored import QuestionLine, RecordLine

_RECORDS = 480
"""About how many records a page has."""


@dataclass(frozen=True)
class Embedded:
    """What to embed: the index as JSON without a `<`, and each part in base64, by its name."""

    index: str
    parts: Mapping[str, str]


def embedded(view: View, room: int = ROOM) -> Embedded:
    """Return all that the question browser shows of a run; equal runs give equal bytes.

    Scores have six significant digits and seconds three. What there is no room for is left out,
    and the index says so.
    """
    cut = stretches(view.stored.texts)
    grid = _Grid(view)
    missing = left_out(map(grid.records, grid.questions), view.stored.texts, room)
    ranked = view.ranked
    per_page = max(1, _RECORDS // max(1, len(view.cells)))
    parts = {"questions": packed(_questions(list(view.stored.questions.values())))}
    for number, name in enumerate(view.metrics):
        parts[f"scores-{number}"] = packed(grid.scores(name))
    parts["lost"] = packed(grid.lost())
    for number in range(len(view.cells)):
        parts[f"answers-{number}"] = packed(grid.answers(number))
    for number, some in enumerate(_batches(grid.questions, per_page)):
        page = Page(
            view.run.provenance.labels,
            view.metrics,
            cut.numbers,
            view.stored.texts,
            missing,
            ranked,
        )
        for question in some:
            page.question(grid.records(question))
        parts[f"records-{number}"] = packed(page.packable())
    for number, texts in enumerate(cut.pages()):
        parts[f"texts-{number}"] = packed(texts)
    said = {**index(view), "left_out": missing, "per_page": per_page, "spans": cut.first}
    return Embedded(embeddable(said), parts)


class _Grid:
    """The records of a run by cell and question, in the order of the leaderboard."""

    def __init__(self, view: View) -> None:
        self.questions = list(view.stored.questions)
        self.cells: list[dict[str, RecordLine]] = [
            {record.question: record for record in view.records(cell)} for cell in view.cells
        ]

    def records(self, question: str) -> list[RecordLine | None]:
        """Return a question's record in each cell; None where it was not asked there."""
        return [cell.get(question) for cell in self.cells]

    def scores(self, metric: str) -> dict[str, Any]:
        """Return the values and states of a metric, by cell and question."""
        scores = [[record and record.scores[metric] for record in cell] for cell in self._rows()]
        return {
            "values": [[score and short(score.value) for score in cell] for cell in scores],
            "states": [
                [STATES[score.state] if score else "n" for score in cell] for cell in scores
            ],
        }

    def lost(self) -> list[list[int | None]]:
        """Return what became of each question, by cell and question: see `_lost`."""
        return [[None if each is None else _lost(each) for each in cell] for cell in self._rows()]

    def answers(self, cell: int) -> list[str | None]:
        """Return a cell's answer to each question."""
        found = (self.cells[cell].get(question) for question in self.questions)
        return [None if record is None else record.answer for record in found]

    def _rows(self) -> Iterator[list[RecordLine | None]]:
        for cell in self.cells:
            yield [cell.get(question) for question in self.questions]


def _lost(record: RecordLine) -> int | None:
    """Return the number of the stage that lost a question; None where nobody can say."""
    if record.error is not None:
        return FAILED
    return None if record.lost_at is None else STAGES.index(record.lost_at)


def _questions(lines: Sequence[QuestionLine]) -> dict[str, Any]:
    fields = ("id", "text", "category", "difficulty", "answerable", "answers", "documents")
    said = {name: [getattr(line, name) for line in lines] for name in (*fields, "keywords")}
    return said | {"passages": [[each.model_dump() for each in line.passages] for line in lines]}


def _batches(questions: Sequence[str], size: int) -> Iterator[list[str]]:
    rest = iter(questions)
    while some := list(islice(rest, size)):
        yield some
