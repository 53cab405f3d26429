"""Reads a run's directory as one `StoredRun`; `writer` writes it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from harness.errors import DataError, Problem
from harness.records import ChunkText, ContextCut, Outcome, Question, SpanKey
from harness.store import integrity
from harness.store.frame import UNKNOWN, Frame, FrameBuilder
from harness.store.outcome_file import MAX_BYTES_IN_MEMORY, OUTCOME_FORMAT, LineOffsets, Outcomes
from harness.store.record_format import RecordFormat
from harness.store.run_file import FORMAT, RUN_FORMAT, RunFile

T = TypeVar("T")
RUN = "run.json"
RECORDS = "records.jsonl"
QUESTIONS = "questions.jsonl"
TEXTS = "texts.jsonl"
DOCUMENTS = "documents.jsonl"
ORACLE = "oracle.jsonl"
LABELS = "labels.jsonl"
UNFINISHED = "unfinished.json"
"""Is there until a run has finished, and says what would continue it."""
QUESTION_FORMAT = RecordFormat(Question)
TEXT_FORMAT = RecordFormat(ChunkText)


@dataclass(frozen=True)
class StoredRun:
    """Everything one run left behind.

    Many records are read from disk each time they are gone through: ask `frame` where it can say.
    """

    folder: Path
    run: RunFile
    records: Sequence[Outcome]
    questions: Mapping[str, Question]
    texts: Mapping[SpanKey, str]
    sums: Mapping[str, str] | None = None
    """The checksums of the files that this was read from; None of older runs."""
    numbers: InitVar[Frame | None] = None
    """What becomes of `frame`, where that is known already."""

    def __post_init__(self, numbers: Frame | None) -> None:
        if numbers is not None:
            self.__dict__["frame"] = numbers

    @cached_property
    def frame(self) -> Frame:
        """What all records say in numbers; cells and questions by their places in the run."""
        builder = _frame_builder(self.run, self.questions)
        for record in self.records:
            builder.add(record)
        return builder.frame()

    def lines(self, name: str, form: RecordFormat[T], hint: str = "run it again") -> Iterator[T]:
        """Yield the lines of one more file of the run; `hint` is the remedy for a damaged one.

        Raises:
            DataError: it is damaged, or was replaced since the run was read.
        """
        if not (self.folder / name).is_file():
            raise _missing_error(self.folder, name)
        file = BytesIO(integrity.read_as(self.folder, name, self.sums))
        yield from _parse_lines(self.folder, name, file, form, hint)

    @property
    def clusters(self) -> Mapping[str, str] | None:
        """The cluster of each question, where the run drew whole clusters."""
        cluster_of = {id_: line.cluster for id_, line in self.questions.items() if line.cluster}
        return cluster_of or None

    def places(self, cell: str) -> NDArray[np.int64]:
        """Return which records are of a cell: their places in `records` and in `frame`."""
        return self._places[cell]

    def record(self, cell: str, question: str) -> Outcome | None:
        """Return the record of a question in a cell; None where it was not asked there."""
        places = self._places.get(cell, np.arange(0))
        number = self._numbers.get(question, UNKNOWN)
        matches = places[self.frame.question[places] == number]
        return self.records[int(matches[-1])] if len(matches) else None

    def records_of(self, cells: Collection[str]) -> Sequence[Outcome]:
        """Return the records of some cells, in the order of all."""
        places_by_cell = [self.places(cell.name) for cell in self.run.cells if cell.name in cells]
        return self.records_at(
            np.sort(np.concatenate(places_by_cell)) if places_by_cell else np.arange(0)
        )

    def records_at(self, places: NDArray[np.int64]) -> Sequence[Outcome]:
        """Return the records at some places, in their order."""
        if isinstance(self.records, Outcomes):
            return self.records.at(places)
        return [self.records[place] for place in places.tolist()]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {id_: number for number, id_ in enumerate(self.questions)}

    @cached_property
    def _places(self) -> dict[str, NDArray[np.int64]]:
        cell = self.frame.cell
        return {
            cell_line.name: np.flatnonzero(cell == number)
            for number, cell_line in enumerate(self.run.cells)
        }


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
    refuse_other_format(folder)
    for _ in range(integrity.MAX_TRIES):
        version = integrity.version(folder)
        sums = integrity.check(folder)
        try:
            run = _read(folder, sums)
        except DataError:
            if integrity.version(folder) == version:
                raise
        else:
            if integrity.version(folder) == version:  # else files of two may have been read
                return run
    raise DataError(str(folder), [Problem(RUN, *integrity.REPLACED)])


def refuse_other_format(folder: Path) -> None:
    """Raise `DataError` where another version of the harness wrote the run in `folder`."""
    try:
        version = json.loads((folder / RUN).read_bytes())["schema"]
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return  # what is wrong with it is said where it is read
    if isinstance(version, int) and version > FORMAT:
        message = f"schema {version} is newer than this harness reads, which is {FORMAT}"
        hint = "read it by the version that wrote it, or a newer one"
        raise DataError(str(folder), [Problem(RUN, message, hint)])
    if isinstance(version, int) and version < FORMAT:
        message = f"schema {version} is of an older harness: this one reads {FORMAT}"
        raise DataError(str(folder), [Problem(RUN, message, "run its configuration again")])


def _read(folder: Path, sums: Mapping[str, str] | None) -> StoredRun:
    try:
        run = RUN_FORMAT.parse((folder / RUN).read_bytes())
    except (ValidationError, OSError) as error:
        raise DataError(str(folder), [Problem(RUN, _first_fault(error), "run it again")]) from None
    questions = {line.id: line for line in _lines(folder, QUESTIONS, QUESTION_FORMAT)}
    alone = next((question.id for question in questions.values() if not question.cluster), None)
    if alone is not None and any(question.cluster for question in questions.values()):
        message = f"question {alone!r} has no cluster, and others have one"
        raise DataError(str(folder), [Problem(QUESTIONS, message, "run it again")])
    spans = _lines(folder, TEXTS, TEXT_FORMAT)
    texts = {(line.doc, line.start, line.end): line.text for line in spans}
    records, frame = _read_records(folder, run, questions, texts)
    return StoredRun(folder, run, records, questions, texts, sums, frame)


def _read_records(
    folder: Path, run: RunFile, questions: Mapping[str, Question], texts: Mapping[SpanKey, str]
) -> tuple[Outcomes, Frame]:
    """Return the records of a run, each of them read and checked, and what they say in numbers."""
    cells = {cell.name for cell in run.cells}
    builder = _frame_builder(run, questions)
    offsets = LineOffsets()
    problems: dict[str, Problem] = {}
    few: list[Outcome] | None = []

    def noted(lines: Iterable[bytes]) -> Iterator[bytes]:
        for line in lines:
            offsets.add(len(line))
            yield line

    with _open(folder, RECORDS) as file:
        parsed = _parse_lines(folder, RECORDS, noted(file), OUTCOME_FORMAT)
        for number, record in enumerate(parsed, start=1):
            for message in _disagreements(record, run, cells, questions, texts):
                place, hint = f"{RECORDS}, line {number}", "the run is damaged: run it again"
                problems.setdefault(message, Problem(place, message, hint))
            if not problems:
                builder.add(record)
            if few is not None:
                few.append(record)
                few = few if offsets.total <= MAX_BYTES_IN_MEMORY else None
        if problems:
            raise DataError(str(folder), list(problems.values()))
        return Outcomes(file, offsets.begins(), few), builder.frame()


def _frame_builder(run: RunFile, questions: Mapping[str, Question]) -> FrameBuilder:
    return FrameBuilder((cell.name for cell in run.cells), questions, run.provenance.metrics)


def _disagreements(
    record: Outcome,
    run: RunFile,
    cells: Collection[str],
    questions: Mapping[str, Question],
    texts: Mapping[SpanKey, str],
) -> Iterator[str]:
    """Yield what a record says otherwise than the other files of its run."""
    hits = (*record.hits, *record.missed)
    if any((hit.doc, hit.start, hit.end) not in texts for hit in hits):
        yield f"{TEXTS} lacks the text of a hit"
    if isinstance(record.context, ContextCut) and not 0 < record.context.hits <= len(record.hits):
        yield "a context is made of hits that are not there"
    if record.question not in questions:
        yield f"{QUESTIONS} lacks question {record.question!r}"
    if record.scores.keys() != run.provenance.metrics.keys():
        yield f"{RUN} names other metrics"
    if record.cell not in cells:
        yield f"{RUN} lacks cell {record.cell!r}"


def _lines(folder: Path, name: str, form: RecordFormat[T]) -> Iterator[T]:
    with _open(folder, name) as file:
        yield from _parse_lines(folder, name, file, form)


def _open(folder: Path, name: str) -> BufferedReader:
    path = folder / name
    if not path.is_file():
        raise _missing_error(folder, name)
    return path.open("rb")  # what is not UTF-8 is found as each line is read


def _missing_error(folder: Path, name: str) -> DataError:
    return DataError(str(folder), [Problem(name, "is not there", "run it again")])


def _parse_lines(
    folder: Path,
    name: str,
    file: Iterable[bytes],
    form: RecordFormat[T],
    hint: str = "run it again",
) -> Iterator[T]:
    for number, line in enumerate(file, start=1):
        try:
            yield form.parse(line)
        except ValidationError as error:
            where = f"{name}, line {number}"
            problem = Problem(where, _first_fault(error), hint)
            raise DataError(str(folder), [problem]) from None


def _first_fault(error: Exception) -> str:
    if isinstance(error, ValidationError):
        fault = error.errors()[0]
        return f"{'.'.join(map(str, fault['loc'])) or 'the line'}: {fault['msg']}"
    return str(error)
