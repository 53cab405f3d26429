"""Data: what the question browser reads, packed so that it fits into the page.

An index that is read at once, and compressed parts that are unpacked on demand: `page/data.js` is
their only reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import columns
from harness.report.data.indexed import index
from harness.report.data.packing import embeddable, packed, short
from harness.report.data.records import FAILED, STAGES, STATES, Page
from harness.report.data.room import ROOM, left_out
from harness.report.data.stretches import stretches
from harness.report.view import View
from harness.stored import QuestionLine, RecordLine

_RECORDS = 480
"""About how many records a page has."""
_NOWHERE = -1
"""Stands for the place of a record that is not there."""


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
    missing = left_out(map(grid.records, range(grid.asked)), view.stored.texts, room)
    ranked = view.ranked
    per_page = max(1, _RECORDS // max(1, len(view.cells)))
    parts = {"questions": packed(_questions(list(view.stored.questions.values())))}
    for number, name in enumerate(view.metrics):
        parts[f"scores-{number}"] = packed(grid.scores(name))
    parts["lost"] = packed(grid.lost())
    for number in range(len(view.cells)):
        parts[f"answers-{number}"] = packed(grid.answers(number))
    for number, first in enumerate(range(0, grid.asked, per_page)):
        page = Page(
            view.run.provenance.labels,
            view.metrics,
            cut.numbers,
            view.stored.texts,
            missing,
            ranked,
        )
        for question in range(first, min(first + per_page, grid.asked)):
            page.question(grid.records(question))
        parts[f"records-{number}"] = packed(page.packable())
    for number, texts in enumerate(cut.pages()):
        parts[f"texts-{number}"] = packed(texts)
    said = {**index(view), "left_out": missing, "per_page": per_page, "spans": cut.first}
    return Embedded(embeddable(said), parts)


class _Grid:
    """The records of a run by cell and question, in the order of the leaderboard."""

    def __init__(self, view: View) -> None:
        self._stored = view.stored
        self._columns = view.stored.columns
        self.asked = len(view.stored.questions)
        self._places = np.full((len(view.cells), self.asked), _NOWHERE)
        for row, cell in zip(self._places, view.cells, strict=True):
            row[self._columns.question[view.places(cell)]] = view.places(cell)

    def records(self, question: int) -> list[RecordLine | None]:
        """Return a question's record in each cell; None where it was not asked there."""
        return list(map(self._record, self._places[:, question].tolist()))

    def scores(self, metric: str) -> dict[str, Any]:
        """Return the values and states of a metric, by cell and question."""
        values, states = self._columns.value[metric], self._columns.state[metric]
        return {
            "values": self._said(
                short(None if value != value else value) for value in values.tolist()
            ),
            "states": self._said((STATES[columns.STATES[at]] for at in states.tolist()), "n"),
        }

    def lost(self) -> list[list[int | None]]:
        """Return the number of the stage that lost each question; None where nobody can say."""
        stages = [STAGES.index(stage) for stage in columns.LOST]
        return self._said(
            FAILED if failed else None if at == columns.UNKNOWN else stages[at]
            for at, failed in zip(self._columns.lost.tolist(), self._columns.failed, strict=True)
        )

    def answers(self, cell: int) -> list[str | None]:
        """Return a cell's answer to each question."""
        places = self._places[cell]
        some = places[places != _NOWHERE]
        some = some[self._columns.answered[some]]
        answers = (record.answer for record in self._stored.some(some))
        said = dict(zip(some.tolist(), answers, strict=True))
        return [said.get(place) for place in places.tolist()]

    def _record(self, place: int) -> RecordLine | None:
        return None if place == _NOWHERE else self._stored.records[place]

    def _said(self, each: Iterable[Any], without: str | None = None) -> list[list[Any]]:
        """Return what is said of each record, by cell and question."""
        said = [*each, without]  # the last one, where there is no record: `_NOWHERE` is -1
        return [[said[place] for place in row] for row in self._places.tolist()]


def _questions(lines: Sequence[QuestionLine]) -> dict[str, Any]:
    fields = ("id", "text", "category", "difficulty", "answerable", "answers", "documents")
    said = {name: [getattr(line, name) for line in lines] for name in (*fields, "keywords")}
    return said | {"passages": [[each.model_dump() for each in line.passages] for line in lines]}
