"""Writes a run's directory as outcomes come in; `reader` reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, BinaryIO

from harness.files import locks
from harness.files.atomic import write_atomically
from harness.records import Chunk, ChunkText, Outcome, Question, SpanKey
from harness.store import integrity
from harness.store.frame import Frame
from harness.store.outcome_file import (
    MAX_BYTES_IN_MEMORY,
    OUTCOME_FORMAT,
    LineOffsets,
    Outcomes,
)
from harness.store.reader import (
    DOCUMENTS,
    LABELS,
    ORACLE,
    QUESTION_FORMAT,
    QUESTIONS,
    RECORDS,
    RUN,
    TEXT_FORMAT,
    TEXTS,
    UNFINISHED,
    StoredRun,
)
from harness.store.run_file import RUN_FORMAT, RunFile

if TYPE_CHECKING:
    from filelock import BaseFileLock

_HALF_WRITTEN = re.compile(r"\..+-[a-z0-9_]{8}")
"""The names of files that a kill kept from being given their own."""
_MADE_AT_THE_END = (
    *(integrity.NAME, RUN, ORACLE, LABELS, "gate.json"),
    *("report.html", "report.md", "report.json"),
)


class RunWriter:
    """Appends to a run's directory; the directory appears with the first outcome.

    `continues` is the fingerprint of all that shapes the run: where a run with the same one was
    broken off, its directory is used again, and what it holds is written again.
    """

    def __init__(self, reports: Path, id_: str, continues: str, fresh: bool = False) -> None:
        self._names = (reports / name for name in _folder_names(id_))
        self._continues = continues
        self._lock: BaseFileLock | None = None
        unfinished = None if fresh else _find_unfinished(reports, continues)
        if unfinished is None:
            self.folder = next(self._names)
        else:
            self.folder, self._lock = unfinished
        self._records: BinaryIO | None = None
        self._texts: IO[str] | None = None
        self._offsets = LineOffsets()
        self._outcomes: list[Outcome] = []
        """Those written, as long as they are few: the reports need not read them."""
        self.texts: dict[SpanKey, str] = {}
        """The texts of all chunks so far."""
        self.questions: dict[str, Question] = {}
        """Those of the run, once they are written."""

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
            locks.release(self._lock)

    def append(self, outcome: Outcome, chunks: Iterable[Chunk]) -> None:
        """Write one outcome and the texts of its chunks, so that both are on disk on return.

        Raises:
            OSError: it cannot be written.
        """
        if self._records is None or self._texts is None:
            self._make_folder()
            self._records = (self.folder / RECORDS).open("wb")
            self._texts = (self.folder / TEXTS).open("w", encoding="utf-8", newline="\n")
        for chunk in chunks:
            key = (chunk.span.doc, chunk.span.start, chunk.span.end)
            if key not in self.texts:
                self.texts[key] = chunk.text
                self._texts.write(TEXT_FORMAT.line(ChunkText(*key, chunk.text)))
        self._texts.flush()
        line = OUTCOME_FORMAT.line(outcome).encode()
        self._records.write(line)
        self._records.flush()
        self._offsets.add(len(line))
        self._outcomes.append(outcome)
        if self._offsets.total > MAX_BYTES_IN_MEMORY:
            self._outcomes.clear()

    def _make_folder(self) -> None:
        """Make a folder of our own; another run may have started in the same second."""
        if self._lock is None:
            while not _is_new(self.folder):
                self.folder = next(self._names)
            with suppress(OSError):  # a disk need not have locks
                self._lock = locks.lock(self.folder / locks.FOLDER_LOCK)
        for name in _MADE_AT_THE_END:
            (self.folder / name).unlink(missing_ok=True)
        for path in self.folder.rglob(".*-*"):
            if _HALF_WRITTEN.fullmatch(path.name):
                path.unlink(missing_ok=True)
        try:
            write_atomically(self.folder / UNFINISHED, json.dumps({"run": self._continues}) + "\n")
        except OSError:
            if self._lock is not None:
                locks.release(self._lock)
                self._lock = None
            with suppress(OSError):  # it is not empty: there was a run in it already
                self.folder.rmdir()
            raise

    def write_questions(
        self, questions: Iterable[Question], clusters: Mapping[str, str] | None = None
    ) -> None:
        """Write the questions, their gold, and the cluster of each if there are any."""
        cluster_of = clusters or {}
        asked = [replace(question, cluster=cluster_of.get(question.id)) for question in questions]
        self.questions = {question.id: question for question in asked}
        write_atomically(self.folder / QUESTIONS, "".join(map(QUESTION_FORMAT.line, asked)))

    def write_documents(self, converted: Iterable[Mapping[str, str]]) -> None:
        """Write the text that offsets refer to, of documents that no file holds as text.

        Of each: `id`, `title`, `text`, `source`, `converter`. Without any there is no file.
        """
        lines = (json.dumps(document, ensure_ascii=False) + "\n" for document in converted)
        if (first := next(lines, None)) is not None:
            write_atomically(self.folder / DOCUMENTS, chain([first], lines))

    def finish(self, run: RunFile, frame: Frame) -> StoredRun:
        """Write `run.json`, all at once, and the checksums; return the run without reading it.

        `frame` has the numbers of all that was appended.
        """
        for file in (self._records, self._texts):
            if file is not None:
                file.flush()  # Ctrl-C may have come in between
        write_atomically(self.folder / RUN, RUN_FORMAT.text(run))
        sums = integrity.compute_sums(self.folder)
        write_atomically(self.folder / integrity.NAME, integrity.format_sums(sums))
        with (self.folder / RECORDS).open("rb") as records:
            outcomes = Outcomes(records, self._offsets.begins(), self._outcomes)
        return StoredRun(self.folder, run, outcomes, self.questions, self.texts, sums, frame)

    def close(self) -> None:
        """Note that all is written, so that the same command begins another run."""
        (self.folder / UNFINISHED).unlink(missing_ok=True)


def _is_new(folder: Path) -> bool:
    """Make a folder; False if it is there already."""
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        return False
    return True


def _find_unfinished(reports: Path, continues: str) -> tuple[Path, BaseFileLock] | None:
    """Return the directory of the last run that `continues`, if no other process is at it."""
    for marker in sorted(reports.glob(f"*/{UNFINISHED}"), reverse=True):
        try:
            same = json.loads(marker.read_text(encoding="utf-8"))["run"] == continues
        except (OSError, ValueError, KeyError, TypeError):
            continue
        with suppress(OSError):
            lock = locks.lock(marker.with_name(locks.FOLDER_LOCK)) if same else None
            if lock is not None:
                return marker.parent, lock
    return None


def _folder_names(id_: str) -> Iterator[str]:
    """Yield the id, and then the id with a number behind it."""
    yield id_
    yield from (f"{id_}-{number}" for number in count(2))
