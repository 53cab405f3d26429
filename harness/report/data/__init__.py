"""Packs the data of the question browser into the report page.

An index that is read at once, and compressed parts that are unpacked on demand: `page/data.js` is
their only reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from harness.records import Outcome, Question, SpanKey
from harness.report.data.chunk_texts import cut_stretches
from harness.report.data.page_index import index
from harness.report.data.page_limits import MAX_CHARACTERS, TextSizes
from harness.report.data.page_packing import pack, round_digits, script_json
from harness.report.data.page_records import FAILED, STAGES, STATES, PageRecords
from harness.report.run_view import View
from harness.store import frame as frames

_RECORDS_PER_PAGE = 480
"""About how many records a page has."""
_NOWHERE = -1
"""Stands for the place of a record that is not there."""


@dataclass(frozen=True)
class PageData:
    """What to embed: the index as JSON without a `<`, and each part in base64, by its name."""

    index: str
    parts: Mapping[str, str]


def pack_page(view: View, max_characters: int = MAX_CHARACTERS) -> PageData:
    """Return all that the question browser shows of a run; equal runs give equal bytes.

    Scores have six significant digits and seconds three. What there is no room for is left out,
    and the index says so.
    """
    cut = cut_stretches(view.stored.texts)
    grid = _Grid(view)
    per_page = max(1, _RECORDS_PER_PAGE // max(1, len(view.cells)))
    parts = {"questions": pack(_questions(list(view.stored.questions.values())))}
    for number, name in enumerate(view.metrics):
        parts[f"scores-{number}"] = pack(grid.scores(name))
    parts["lost"] = pack(grid.lost())
    sizes = TextSizes()
    records = _record_parts(view, grid, cut.numbers, per_page, sizes)
    missing = sizes.left_out(max_characters)
    if missing:
        records = _record_parts(view, grid, cut.numbers, per_page, TextSizes(), missing)
    parts |= records
    for number, texts in enumerate(cut.pages()):
        parts[f"texts-{number}"] = pack(texts)
    page_index = {**index(view), "left_out": missing, "per_page": per_page, "spans": cut.first}
    return PageData(script_json(page_index), parts)


def _record_parts(
    view: View,
    grid: _Grid,
    numbers: Mapping[SpanKey, int],
    per_page: int,
    sizes: TextSizes,
    missing: Sequence[str] = (),
) -> dict[str, str]:
    """Return the pages of records and the answers of each cell, reading each record once."""
    parts: dict[str, str] = {}
    answers: list[list[str | None]] = [[] for _ in view.cells]
    for number, first in enumerate(range(0, grid.asked, per_page)):
        page = PageRecords(view.run.provenance.labels, view.metrics, numbers, missing, view.ranked)
        for question in range(first, min(first + per_page, grid.asked)):
            records = grid.records(question)
            sizes.add(records)
            page.question(records)
            for record, cell_answers in zip(records, answers, strict=True):
                cell_answers.append(None if record is None else record.answer)
        parts[f"records-{number}"] = pack(page.packable())
    return parts | {f"answers-{number}": pack(texts) for number, texts in enumerate(answers)}


class _Grid:
    """The records of a run by cell and question, in the order of the leaderboard."""

    def __init__(self, view: View) -> None:
        self._stored = view.stored
        self._columns = view.stored.frame
        self.asked = len(view.stored.questions)
        self._places = np.full((len(view.cells), self.asked), _NOWHERE)
        for row, cell in zip(self._places, view.cells, strict=True):
            row[self._columns.question[view.places(cell)]] = view.places(cell)

    def records(self, question: int) -> list[Outcome | None]:
        """Return a question's record in each cell; None where it was not asked there."""
        return list(map(self._record, self._places[:, question].tolist()))

    def scores(self, metric: str) -> dict[str, Any]:
        """Return the values and states of a metric, by cell and question."""
        values, states = self._columns.value[metric], self._columns.state[metric]
        return {
            "values": self._by_cell(
                round_digits(None if value != value else value) for value in values.tolist()
            ),
            "states": self._by_cell((STATES[frames.STATES[code]] for code in states.tolist()), "n"),
        }

    def lost(self) -> list[list[int | None]]:
        """Return the number of the stage that lost each question; None where nobody can say."""
        stages = [STAGES.index(stage) for stage in frames.LOST]
        return self._by_cell(
            FAILED if failed else None if code == frames.UNKNOWN else stages[code]
            for code, failed in zip(self._columns.lost.tolist(), self._columns.failed, strict=True)
        )

    def _record(self, place: int) -> Outcome | None:
        return None if place == _NOWHERE else self._stored.records[place]

    def _by_cell(self, values: Iterable[Any], without: str | None = None) -> list[list[Any]]:
        """Return the value of each record, by cell and question."""
        by_record = [*values, without]  # the last one, where there is no record: `_NOWHERE` is -1
        return [[by_record[place] for place in row] for row in self._places.tolist()]


def _questions(lines: Sequence[Question]) -> dict[str, Any]:
    fields = ("id", "text", "category", "difficulty", "answerable", "answers", "documents")
    columns = {name: [getattr(line, name) for line in lines] for name in (*fields, "keywords")}
    return columns | {
        "passages": [
            [
                {
                    **asdict(passage.span),
                    "text": passage.text,
                    "group": passage.group,
                    "grade": passage.grade,
                }
                for passage in line.passages
            ]
            for line in lines
        ]
    }
