"""A run's directory, written as outcomes come in; `store` reads it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import IO

from harness import locks, sealed
from harness.lines import SpanKey, question_line, record_line
from harness.records import Label, Outcome, Question
from harness.store import DOCUMENTS, ORACLE, QUESTIONS, RECORDS, RUN, TEXTS, UNFINISHED
from harness.stored import RecordLine, RunFile, TextLine
from harness.writing import atomically

_HALF_WRITTEN = re.compile(r"\..+-[a-z0-9_]{8}")
"""The names of files that a kill kept from being given their own."""
_MADE_AT_THE_END = (sealed.NAME, RUN, ORACLE, "report.html", "report.md", "report.json")


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


def run_text(run: RunFile) -> str:
    """Return a run as the text of `run.json`."""
    return run.model_dump_json(indent=1, by_alias=True) + "\n"


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
