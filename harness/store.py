"""A run's directory, read as one `StoredRun`; `runwriter` writes it."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from harness import sealed
from harness.columns import UNKNOWN, Columns, Gathered
from harness.errors import DataError, Problem
from harness.lines import SpanKey
from harness.ondisk import Begins, OnDisk
from harness.stored import QuestionLine, RecordLine, RunFile, TextLine

M = TypeVar("M", bound=BaseModel)
RUN = "run.json"
RECORDS = "records.jsonl"
QUESTIONS = "questions.jsonl"
TEXTS = "texts.jsonl"
DOCUMENTS = "documents.jsonl"
ORACLE = "oracle.jsonl"
UNFINISHED = "unfinished.json"
"""Is there until a run has finished, and says what would continue it."""
KEPT = 32_000_000 if hasattr(os, "pread") else math.inf  # Windows
"""Bytes of records that are kept once read, where they take seven times as many; else none are."""


@dataclass(frozen=True)
class StoredRun:
    """Everything one run left behind.

    Many records are read from disk each time they are gone through: ask `columns` where it can say.
    """

    folder: Path
    run: RunFile
    records: Sequence[RecordLine]
    questions: Mapping[str, QuestionLine]
    texts: Mapping[SpanKey, str]
    sums: Mapping[str, str] | None = None
    """The checksums of the files that this was read from; None of older runs."""

    def lines(self, name: str, model: type[M]) -> Iterator[M]:
        """Yield the lines of one more file of the run.

        Raises:
            DataError: it is damaged, or was replaced since the run was read.
        """
        if not (self.folder / name).is_file():
            raise _gone(self.folder, name)
        read = BytesIO(sealed.read_as(self.folder, name, self.sums))
        yield from _parsed(self.folder, name, read, model)

    @property
    def clusters(self) -> Mapping[str, str] | None:
        """The cluster of each question, where the run drew whole clusters."""
        found = {id_: line.cluster for id_, line in self.questions.items() if line.cluster}
        return found or None

    @cached_property
    def columns(self) -> Columns:
        """What all records say in numbers; cells and questions by their places in the run."""
        if isinstance(self.records, OnDisk):
            return self.records.columns
        gathered = _gathered(self.run, self.questions)
        for record in self.records:
            gathered.add(record)
        return gathered.columns()

    def places(self, cell: str) -> NDArray[np.int64]:
        """Return which records are of a cell: their places in `records` and in `columns`."""
        return self._places[cell]

    def record(self, cell: str, question: str) -> RecordLine | None:
        """Return the record of a question in a cell; None where it was not asked there."""
        places = self._places.get(cell, np.arange(0))
        number = self._numbers.get(question, UNKNOWN)
        found = places[self.columns.question[places] == number]
        return self.records[int(found[-1])] if len(found) else None

    def of(self, cells: Collection[str]) -> Sequence[RecordLine]:
        """Return the records of some cells, in the order of all."""
        wanted = [self.places(cell.name) for cell in self.run.cells if cell.name in cells]
        return self.some(np.sort(np.concatenate(wanted)) if wanted else np.arange(0))

    def some(self, places: NDArray[np.int64]) -> Sequence[RecordLine]:
        """Return the records at some places, in their order."""
        if isinstance(self.records, OnDisk):
            return self.records.some(places)
        return [self.records[place] for place in places.tolist()]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {id_: number for number, id_ in enumerate(self.questions)}

    @cached_property
    def _places(self) -> dict[str, NDArray[np.int64]]:
        cell = self.columns.cell
        return {each.name: np.flatnonzero(cell == at) for at, each in enumerate(self.run.cells)}


def load(folder: Path) -> StoredRun:
    """Read a stored run.

    Raises:
        DataError: the folder holds no run, or a file of it is damaged or of another version.
    """
    path = folder / RUN
    if not path.is_file() and (folder / UNFINISHED).is_file():
        hint = "the command that began it continues it"
        raise DataError(str(folder), [Problem(RUN, "is not there: the run was killed", hint)])
    if not path.is_file():
        hint = "name the folder of one run, such as reports/20260101-010203-abcdef"
        raise DataError(str(folder), [Problem(RUN, "is not there", hint)])
    for _ in range(sealed.TRIES):
        version = sealed.version(folder)
        sums = sealed.check(folder)
        try:
            found = _read(folder, sums)
        except DataError:
            if sealed.version(folder) == version:
                raise
        else:
            if sealed.version(folder) == version:  # else files of two may have been read
                return found
    raise DataError(str(folder), [Problem(RUN, *sealed.REPLACED)])


def _read(folder: Path, sums: Mapping[str, str] | None) -> StoredRun:
    path = folder / RUN
    try:
        run = RunFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError, OSError) as error:
        raise DataError(str(folder), [Problem(RUN, _first(error), "run it again")]) from None
    questions = {line.id: line for line in _lines(folder, QUESTIONS, QuestionLine)}
    alone = next((each.id for each in questions.values() if not each.cluster), None)
    if alone is not None and any(each.cluster for each in questions.values()):
        what = f"question {alone!r} has no cluster, and others have one"
        raise DataError(str(folder), [Problem(QUESTIONS, what, "run it again")])
    spans = _lines(folder, TEXTS, TextLine)
    texts = {(line.doc, line.start, line.end): line.text for line in spans}
    return StoredRun(folder, run, _records(folder, run, questions, texts), questions, texts, sums)


def _records(
    folder: Path, run: RunFile, questions: Mapping[str, QuestionLine], texts: Mapping[SpanKey, str]
) -> Sequence[RecordLine]:
    """Return the records of a run, each of them read and checked; all in memory if they are few."""
    kept: list[RecordLine] = []
    gathered, begins = _gathered(run, questions), Begins()
    cells = {cell.name for cell in run.cells}
    problems: dict[str, Problem] = {}
    with _opened(folder, RECORDS) as file:
        keep = os.fstat(file.fileno()).st_size <= KEPT
        read = _parsed(folder, RECORDS, begins.over(file), RecordLine)
        for number, record in enumerate(read, start=1):
            for what in _disagreements(record, run, cells, questions, texts):
                place, hint = f"{RECORDS}, line {number}", "the run is damaged: run it again"
                problems.setdefault(what, Problem(place, what, hint))
            if keep:
                kept.append(record)
            elif not problems:
                gathered.add(record)
        if problems:
            raise DataError(str(folder), list(problems.values()))
        return tuple(kept) if keep else begins.on_disk(file, gathered.columns())


def _gathered(run: RunFile, questions: Mapping[str, QuestionLine]) -> Gathered:
    return Gathered((cell.name for cell in run.cells), questions, run.provenance.metrics)


def _disagreements(
    record: RecordLine,
    run: RunFile,
    cells: Collection[str],
    questions: Mapping[str, QuestionLine],
    texts: Mapping[SpanKey, str],
) -> Iterator[str]:
    """Yield what a record says otherwise than the other files of its run."""
    found = (*record.hits, *record.missed)
    if any((each.doc, each.start, each.end) not in texts for each in found):
        yield f"{TEXTS} lacks the text of a hit"
    if record.question not in questions:
        yield f"{QUESTIONS} lacks question {record.question!r}"
    if record.scores.keys() != run.provenance.metrics.keys():
        yield f"{RUN} names other metrics"
    if record.cell not in cells:
        yield f"{RUN} lacks cell {record.cell!r}"


def _lines(folder: Path, name: str, model: type[M]) -> Iterator[M]:
    with _opened(folder, name) as file:
        yield from _parsed(folder, name, file, model)


def _opened(folder: Path, name: str) -> BufferedReader:
    path = folder / name
    if not path.is_file():
        raise _gone(folder, name)
    return path.open("rb")  # what is not UTF-8 is found as each line is read


def _gone(folder: Path, name: str) -> DataError:
    return DataError(str(folder), [Problem(name, "is not there", "run it again")])


def _parsed(folder: Path, name: str, read: Iterable[bytes], model: type[M]) -> Iterator[M]:
    for number, line in enumerate(read, start=1):
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            where = f"{name}, line {number}"
            problem = Problem(where, _first(error), "run it again")
            raise DataError(str(folder), [problem]) from None


def _first(error: Exception) -> str:
    if isinstance(error, ValidationError):
        each = error.errors()[0]
        return f"{'.'.join(map(str, each['loc'])) or 'the line'}: {each['msg']}"
    return str(error)
