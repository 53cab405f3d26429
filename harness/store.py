"""A run's directory: written as outcomes come in, read back as one `StoredRun`."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cached_property
from io import BufferedReader
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError

from harness import locks, sealed
from harness.columns import UNKNOWN, Columns, Gathered
from harness.errors import DataError, HarnessError, Problem
from harness.lines import SpanKey, question_line, record_line
from harness.ondisk import Begins, OnDisk
from harness.records import Label, Outcome, Question
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
_HALF_WRITTEN = re.compile(r"\..+-[a-z0-9_]{8}")
"""The names of files that a kill kept from being given their own."""
KEPT = 32_000_000
"""Bytes of records that are kept once read, where they take seven times as many; else none are."""
_MADE_AT_THE_END = (sealed.NAME, RUN, ORACLE, "report.html", "report.md", "report.json")


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


class RunWriter:
    """Appends to a run's directory; the directory appears with the first outcome.

    `continues` is the fingerprint of all that shapes the run: where a run with the same one was
    broken off, its directory is used again, and what it holds is written anew.
    """

    def __init__(
        self, reports: Path, id_: str, labels: Label, continues: str, fresh: bool = False
    ) -> None:
        self._names = (reports / name for name in _names(id_))
        self._continues = continues
        self._lock: locks.Lock | None = None
        found = None if fresh else _unfinished(reports, continues)
        if found is None:
            self.folder = next(self._names)
        else:
            self.folder, self._lock = found
        self._labels = labels
        self._records: IO[str] | None = None
        self._texts: IO[str] | None = None
        self._seen: set[SpanKey] = set()

    @property
    def id(self) -> str:
        """The run's name, which is its folder's."""
        return self.folder.name

    @property
    def started(self) -> bool:
        """Whether anything has been written."""
        return self._records is not None

    @property
    def resumed(self) -> bool:
        """Whether the directory is that of a run that was broken off."""
        return (self.folder / UNFINISHED).exists() and not self.started

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in (self._records, self._texts):
            if file is not None:
                with suppress(OSError) if error is not None else nullcontext():
                    file.close()
        if self._lock is not None:
            self._lock.release()

    def append(self, outcome: Outcome) -> RecordLine:
        """Write one outcome, so that it is on disk when this returns.

        Raises:
            OSError: it cannot be written.
        """
        if self._records is None or self._texts is None:
            self._make_folder()
            self._records = (self.folder / RECORDS).open("w", encoding="utf-8", newline="\n")
            self._texts = (self.folder / TEXTS).open("w", encoding="utf-8", newline="\n")
        found = [hit.chunk for hit in (*outcome.case.hits, *outcome.candidates)]
        found += [missed.chunk for missed in outcome.attribution.missed]
        for chunk in found:
            span = chunk.span
            key = (span.doc, span.start, span.end)
            if key not in self._seen:
                self._seen.add(key)
                text = TextLine(doc=span.doc, start=span.start, end=span.end, text=chunk.text)
                self._texts.write(text.model_dump_json() + "\n")
        self._texts.flush()
        line = record_line(outcome, self._labels)
        self._records.write(line.model_dump_json() + "\n")
        self._records.flush()
        return line

    def _make_folder(self) -> None:
        """Make a folder of our own; another run may have started in the same second."""
        while self._lock is None:
            try:
                self.folder.mkdir(parents=True)
                self._lock = locks.shared(self.folder)
            except FileExistsError:
                self.folder = next(self._names)
        for name in _MADE_AT_THE_END:
            (self.folder / name).unlink(missing_ok=True)
        for path in self.folder.rglob(".*-*"):
            if _HALF_WRITTEN.fullmatch(path.name):
                path.unlink(missing_ok=True)
        try:
            atomically(self.folder / UNFINISHED, json.dumps({"run": self._continues}) + "\n")
        except OSError:
            with suppress(OSError):  # it is not empty: there was a run in it already
                self.folder.rmdir()
            raise

    def questions(
        self, questions: Iterable[Question], clusters: Mapping[str, str] | None = None
    ) -> None:
        """Write the questions, their gold, and the cluster of each if there are any."""
        named = clusters or {}
        lines = [question_line(each, named.get(each.id)).model_dump_json() for each in questions]
        atomically(self.folder / QUESTIONS, "".join(f"{line}\n" for line in lines))

    def documents(self, converted: Iterable[Mapping[str, str]]) -> None:
        """Write the text that offsets refer to, of documents that no file holds as text.

        Of each: `id`, `title`, `text`, `source`, `converter`. Without any there is no file.
        """
        lines = (json.dumps(each, ensure_ascii=False) + "\n" for each in converted)
        if (first := next(lines, None)) is not None:
            atomically(self.folder / DOCUMENTS, chain([first], lines))

    def finish(self, run: RunFile) -> None:
        """Write `run.json`, all at once, and the checksums of all that was written."""
        for file in (self._records, self._texts):
            if file is not None:
                file.flush()  # Ctrl-C may have come in between
        atomically(self.folder / RUN, run_text(run))
        atomically(self.folder / sealed.NAME, sealed.text(sealed.sums(self.folder)))

    def close(self) -> None:
        """Note that all is written, so that the same command begins another run."""
        (self.folder / UNFINISHED).unlink(missing_ok=True)


def atomically(path: Path, text: str | Iterable[str], mode: int = 0o644) -> None:
    """Write a file, from a text or from pieces, so that it is there whole or not at all."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def run_text(run: RunFile) -> str:
    """Return a run as the text of `run.json`."""
    return run.model_dump_json(indent=1, by_alias=True) + "\n"


def check_writable(folder: Path, what: str) -> None:
    """Raise `HarnessError` unless files can be made in `folder`, which need not be there yet."""
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise HarnessError(
            f"{what} {str(folder)!r} cannot be written: {error.strerror or error}\n"
            f"  name another: --set {what}=FOLDER"
        ) from None


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
    sealed.check(folder)
    try:
        run = RunFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError, OSError) as error:
        raise DataError(str(folder), [Problem(RUN, _first(error), "run it again")]) from None
    questions = {line.id: line for line in lines(folder, QUESTIONS, QuestionLine)}
    texts = {(line.doc, line.start, line.end): line.text for line in lines(folder, TEXTS, TextLine)}
    return StoredRun(folder, run, _records(folder, run, questions, texts), questions, texts)


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


def lines(folder: Path, name: str, model: type[M]) -> Iterator[M]:
    """Yield the lines of one of a run's files; raises `DataError` where one is damaged."""
    with _opened(folder, name) as file:
        yield from _parsed(folder, name, file, model)


def _opened(folder: Path, name: str) -> BufferedReader:
    path = folder / name
    if not path.is_file():
        raise DataError(str(folder), [Problem(name, "is not there", "run it again")])
    return path.open("rb")  # what is not UTF-8 is found as each line is read


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


def _unfinished(reports: Path, continues: str) -> tuple[Path, locks.Lock] | None:
    """Return the directory of the last run that `continues`, if no other process is at it."""
    for marker in sorted(reports.glob(f"*/{UNFINISHED}"), reverse=True):
        try:
            same = json.loads(marker.read_text(encoding="utf-8"))["run"] == continues
        except (OSError, ValueError, KeyError, TypeError):
            continue
        lock = locks.alone(marker.parent) if same else None
        if lock is not None:
            return marker.parent, lock
    return None


def _names(id_: str) -> Iterator[str]:
    """Yield the id, and then the id with a number behind it."""
    yield id_
    yield from (f"{id_}-{number}" for number in count(2))
