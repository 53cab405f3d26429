"""A run's directory: written as outcomes come in, read back as one `StoredRun`."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError

from harness import locks
from harness.errors import DataError, HarnessError, Problem
from harness.lines import SpanKey, question_line, record_line
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
_MADE_AT_THE_END = (RUN, ORACLE, "report.html", "report.md", "report.json")


@dataclass(frozen=True)
class StoredRun:
    """Everything one run left behind."""

    folder: Path
    run: RunFile
    records: tuple[RecordLine, ...]
    questions: Mapping[str, QuestionLine]
    texts: Mapping[SpanKey, str]

    @property
    def clusters(self) -> Mapping[str, str] | None:
        """The cluster of each question, where the run drew whole clusters."""
        found = {id_: line.cluster for id_, line in self.questions.items() if line.cluster}
        return found or None


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
        """Write `run.json`, all at once."""
        text = run.model_dump_json(indent=1, by_alias=True)
        atomically(self.folder / RUN, text + "\n")

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


def rewrite(folder: Path, run: RunFile, records: Iterable[RecordLine]) -> None:
    """Put other scores in the place of a stored run's; records first, then `run.json`."""
    atomically(folder / RECORDS, "".join(f"{line.model_dump_json()}\n" for line in records))
    atomically(folder / RUN, run.model_dump_json(indent=1, by_alias=True) + "\n")


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
    try:
        run = RunFile.model_validate_json(path.read_text(encoding="utf-8"))
    except (ValidationError, UnicodeDecodeError, OSError) as error:
        raise DataError(str(folder), [Problem(RUN, _first(error), "run it again")]) from None
    records = tuple(lines(folder, RECORDS, RecordLine))
    questions = {line.id: line for line in lines(folder, QUESTIONS, QuestionLine)}
    texts = {(line.doc, line.start, line.end): line.text for line in lines(folder, TEXTS, TextLine)}
    stored = StoredRun(folder, run, records, questions, texts)
    problems = list(_disagreements(stored))
    if problems:
        raise DataError(str(folder), problems)
    return stored


def _disagreements(stored: StoredRun) -> Iterator[Problem]:
    """Yield what the files of one run say otherwise than each other, one of a kind."""
    metrics = stored.run.provenance.metrics.keys()
    cells = {cell.name for cell in stored.run.cells}
    seen: set[str] = set()
    for number, record in enumerate(stored.records, start=1):
        spans = [(hit.doc, hit.start, hit.end) for hit in record.hits]
        spans += [(missed.doc, missed.start, missed.end) for missed in record.missed]
        wrong = {
            f"{TEXTS} lacks the text of a hit": any(span not in stored.texts for span in spans),
            f"{QUESTIONS} lacks question {record.question!r}": record.question
            not in stored.questions,
            f"{RUN} names other metrics": record.scores.keys() != metrics,
            f"{RUN} lacks cell {record.cell!r}": record.cell not in cells,
        }
        for what, found in wrong.items():
            if found and what not in seen:
                seen.add(what)
                yield Problem(f"{RECORDS}, line {number}", what, "the run is damaged: run it again")


def lines(folder: Path, name: str, model: type[M]) -> Iterator[M]:
    """Yield the lines of one of a run's files; raises `DataError` where one is damaged."""
    path = folder / name
    if not path.is_file():
        raise DataError(str(folder), [Problem(name, "is not there", "run it again")])
    with path.open("rb") as file:  # what is not UTF-8 is found as each line is read
        for number, line in enumerate(file, start=1):
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
