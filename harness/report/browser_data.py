"""Packs the data of the question browser into the report page.

An index that is read at once, and compressed parts that are unpacked on demand: `page/data.js` is
their only reader. What repeats in a part costs little, as it is compressed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from harness.records import Outcome, Question
from harness.report.browser_records import (
    FAILED,
    STAGES,
    STATES,
    RecordPacker,
    choose_first,
    count_going_on,
    pack,
    round_digits,
    script_json,
)
from harness.report.charts.losses_chart import kept_label
from harness.report.run_view import View
from harness.store import frame as frames

Kind = Literal["reasons", "verdicts", "samples", "prompts", "contexts"]
"""What can be left out, the last first."""
MAX_CHARACTERS = 24_000_000
"""Characters, each text of a question counted once: they come to some 8 MB of the page."""
_RECORDS_PER_PAGE = 480
"""About how many records a page has."""
_TEXT_CHARACTERS = 64_000
"""Characters of the texts in a part, or a little more."""
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
    grid = _Grid(view)
    per_page = max(1, _RECORDS_PER_PAGE // max(1, len(view.cells)))
    parts = {"questions": pack(_questions(list(view.stored.questions.values())))}
    for number, name in enumerate(view.metrics):
        parts[f"scores-{number}"] = pack(grid.scores(name))
    parts["lost"] = pack(grid.lost())
    spans, chunks = [], sorted(view.stored.texts.items())
    for number, (first, last) in enumerate(_split_texts([text for _, text in chunks])):
        spans.append(first)
        page = [(*key, text) for key, text in chunks[first:last]]
        columns = zip(("doc", "start", "end", "text"), zip(*page, strict=True), strict=True)
        parts[f"texts-{number}"] = pack(dict(columns))
    sizes = TextSizes()
    records = _record_parts(view, grid, per_page, sizes)
    if missing := sizes.left_out(max_characters):
        records = _record_parts(view, grid, per_page, TextSizes(), missing)
    page_index = {**index(view), "left_out": missing, "per_page": per_page, "spans": spans}
    return PageData(script_json(page_index), parts | records)


def _split_texts(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where each part begins and ends; chunks that overlap stand together in it."""
    first = size = 0
    for last, text in enumerate(texts, start=1):
        size += len(text)
        if size >= _TEXT_CHARACTERS or last == len(texts):
            yield first, last
            first, size = last, 0


def _record_parts(
    view: View, grid: _Grid, per_page: int, sizes: TextSizes, missing: Sequence[str] = ()
) -> dict[str, str]:
    """Return the pages of records and the answers of each cell, reading each record once.

    A page has `rows`, which of its records is that of a question and a cell, -1 where there is
    none, and `columns` of values.
    """
    numbers = {key: number for number, key in enumerate(sorted(view.stored.texts))}
    labels = view.run.provenance.labels
    going_on = {cell.name: count_going_on(view, cell) for cell in view.cells}
    packer = RecordPacker(labels, view.metrics, numbers, view.ranked, missing, going_on)
    parts: dict[str, str] = {}
    answers: list[list[str | None]] = [[] for _ in view.cells]
    for number, first in enumerate(range(0, grid.asked, per_page)):
        rows: list[list[int]] = []
        values: list[dict[str, Any]] = []
        for question in range(first, min(first + per_page, grid.asked)):
            records = grid.records(question)
            sizes.add(records)
            rows.append([])
            for record, cell_answers in zip(records, answers, strict=True):
                rows[-1].append(-1 if record is None else len(values))
                cell_answers.append(None if record is None else record.answer)
                if record is not None:
                    values.append(packer.values(record))
        columns = {name: [row[name] for row in values] for name in values[0]} if values else {}
        parts[f"records-{number}"] = pack({"rows": rows, "columns": columns})
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
        return [
            None if place == _NOWHERE else self._stored.records[place]
            for place in self._places[:, question].tolist()
        ]

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

    def _by_cell(self, values: Iterable[Any], without: str | None = None) -> list[list[Any]]:
        """Return the value of each record, by cell and question."""
        by_record = [*values, without]  # the last one, where there is no record: `_NOWHERE` is -1
        return [[by_record[place] for place in row] for row in self._places.tolist()]


def _questions(lines: Sequence[Question]) -> dict[str, Any]:
    fields = ("id", "text", "category", "difficulty", "answerable", "answers", "documents")
    columns = {name: [getattr(line, name) for line in lines] for name in (*fields, "keywords")}
    passages = [
        [
            {**asdict(each.span), "text": each.text, "group": each.group, "grade": each.grade}
            for each in line.passages
        ]
        for line in lines
    ]
    return {**columns, "passages": passages}


def index(view: View) -> dict[str, Any]:
    """Return the run's cells, metrics, settings and questions to read; numbers are places."""
    run = view.run
    settings = run.config.get("resolved", {})
    focus = view.focus
    place = {question: number for number, question in enumerate(view.stored.questions)}
    return {
        "by": view.metrics.index(view.by),
        "second": _second_metric(view),
        "labels": run.provenance.labels,
        "level": settings.get("relevance_level", 1),
        "chunks": settings.get("context", {}).get("chunks"),
        "cells": [
            {
                "name": view.name(cell),
                "best": cell is focus,
                "baseline": cell.name == run.baseline,
                "hue": view.mark(cell).hue,
                "shape": view.mark(cell).shape,
            }
            for cell in view.cells
        ],
        "metrics": [_metric_entry(view, name) for name in view.metrics],
        "stages": STAGES,
        "kept": kept_label(view),
        "ten": [place[record.question] for record in choose_first(view)],
    }


def _metric_entry(view: View, name: str) -> dict[str, Any]:
    about = view.run.provenance.metrics[name]
    metric = view.build_metric(name)
    options = {field.name: getattr(metric, field.name) for field in fields(metric)}  # type: ignore[arg-type]
    plain = {key: value for key, value in options.items() if isinstance(value, str | int | float)}
    return {"name": name, "kind": about.kind, "of": metric.name, "options": plain}


def _second_metric(view: View) -> int | None:
    """Return the metric of answers that stands beside the deciding one."""
    of_answers = [
        name
        for name in view.metrics
        if name != view.by
        and view.run.provenance.metrics[name].kind == "quality"
        and "answer" in view.build_metric(name).needs
    ]
    candidates: Sequence[str] = ["token_f1"] if "token_f1" in of_answers else of_answers
    return view.metrics.index(candidates[0]) if candidates else None


class TextSizes:
    """Counts the characters of each kind of text, question by question."""

    def __init__(self) -> None:
        self._characters: dict[Kind, int] = dict.fromkeys(get_args(Kind), 0)

    def add(self, records: Sequence[Outcome | None]) -> None:
        """Count the texts of one question's records, equal ones once."""
        texts_by_kind: dict[Kind, set[str]] = {kind: set() for kind in self._characters}
        for record in records:
            for kind, text in _texts(record) if record is not None else ():
                texts_by_kind[kind].add(text)
        for kind, kind_texts in texts_by_kind.items():
            self._characters[kind] += sum(map(len, kind_texts))

    def left_out(self, max_characters: int) -> list[Kind]:
        """Return the kinds that do not fit, where there is room for so many characters."""
        missing: list[Kind] = []
        for kind, characters in self._characters.items():
            if characters > max_characters:
                missing.append(kind)
            else:
                max_characters -= characters
        return missing


def _texts(record: Outcome) -> Iterator[tuple[Kind, str]]:
    for score in record.scores.values():
        if score.reason:
            yield "reasons", score.reason
        for verdict in score.verdicts:
            for text in (verdict.of, verdict.reason, *verdict.replies):
                yield "verdicts", text
    for sample in record.samples:
        yield "samples", sample.answer or ""
        for score in sample.scores.values():
            yield "samples", score.reason
            for verdict in score.verdicts:
                for text in (verdict.of, verdict.reason, *verdict.replies):
                    yield "samples", text
    for text in record.prompt:
        yield "prompts", text
    if isinstance(record.context, str):
        yield "contexts", record.context
