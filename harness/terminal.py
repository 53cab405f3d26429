"""What the terminal shows: progress while a run goes on, and what came of it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from harness import numbers
from harness.evaluation import Evaluation
from harness.prepared import Prepared
from harness.printable import printable
from harness.stored import RunFile
from harness.summary import summary as summary

_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""


class Reporter(Protocol):
    """Progress that can be put away before something else is printed."""

    def __call__(self, work: str, done: int, total: int) -> None:
        """Show how far `work` has come."""
        ...

    def note(self, text: str) -> None:
        """Show one line."""
        ...

    def stop(self) -> None:
        """Show nothing more."""
        ...


@contextmanager
def progress() -> Iterator[Reporter]:
    """Show progress on stderr: a bar where it is a terminal, plain lines where it is not."""
    reporter: Reporter = _Bars() if sys.stderr.isatty() else _Lines()
    try:
        yield reporter
    finally:
        reporter.stop()


class _Bars:
    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        text = TextColumn("{task.description}", markup=False)
        columns = (text, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bars = Progress(*columns, console=Console(stderr=True))
        self._tasks: dict[str, Any] = {}
        self._bars.start()

    def __call__(self, work: str, done: int, total: int) -> None:
        if work not in self._tasks:
            self._tasks[work] = self._bars.add_task(work, total=total)
        self._bars.update(self._tasks[work], completed=done)

    def note(self, text: str) -> None:
        self._bars.console.print(_plain(text), markup=False, highlight=False)

    def stop(self) -> None:
        self._bars.stop()


class _Lines:
    def __init__(self) -> None:
        self._last: dict[str, float] = {}

    def __call__(self, work: str, done: int, total: int) -> None:
        now = time.monotonic()
        if done == total or now - self._last.setdefault(work, now) >= _EVERY:
            self._last[work] = now
            print(f"{work}: {done} of {total}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        print(_plain(text), file=sys.stderr, flush=True)

    def stop(self) -> None:
        pass


def _plain(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def as_json(folder: Path, run: RunFile) -> str:
    """Return the run's folder, status and cells as JSON."""
    cells = [cell.model_dump(mode="json") for cell in run.cells]
    said = {"run": str(folder), "status": run.status, "cells": cells}
    return json.dumps(said, indent=1, ensure_ascii=False)


def evaluated(found: Evaluation, per_question: bool) -> str:
    """Return the means of an evaluation, and before them, if asked for, each question's scores."""
    lines: list[str] = []
    if per_question:
        lines.append("\t".join(["question", *found.means]))
        for id_, row in found.values().items():
            scores = map(numbers.score, row.values())
            lines.append("\t".join([printable(id_), *scores]))
        lines.append("")
    lines.append(str(found))
    if found.missing:
        more = ", …" if len(found.missing) > 10 else ""
        shown = printable(", ".join(found.missing[:10]) + more)
        lines.append(
            f"missing, counted as 0: {numbers.count(len(found.missing), 'question')}: {shown}"
        )
    return "\n".join(lines)


def evaluation_as_json(found: Evaluation) -> str:
    """Return an evaluation as JSON: `metrics`, `questions`, `missing`, `notes`."""
    return json.dumps(found.as_dict(), indent=1, ensure_ascii=False)


def _sampled(prepared: Prepared) -> Iterator[str]:
    if prepared.sample is not None:
        line = prepared.sample.line
        whose = "the same every day" if line.day is None else f"today, {line.day}; others tomorrow"
        yield f"  sample: {line.size} of them, {whose}"


def checked(prepared: Prepared) -> str:
    """Return what a checked configuration will do."""
    questions = prepared.whole.questions
    declined = sum(not question.answerable for question in questions)
    names = [cell.name for cell in prepared.config.cells]
    names += [cell.name for cell in prepared.config.systems]
    lines = [
        f"{prepared.config.shown} is valid",
        f"  corpus: {numbers.count(len(prepared.corpus.documents), 'document')}",
        f"  test set: {numbers.count(len(questions), 'question')}, {declined} unanswerable; "
        f"judged by {prepared.plan.labels}",
        *_sampled(prepared),
        f"  grid: {numbers.count(len(names), 'cell')}",
        *(f"    {name}" for name in names),
        *(f"  skipped: {each.where}: {each.what}" for each in prepared.corpus.skipped),
        *(f"  note: {note}" for note in (*prepared.corpus.notes, *prepared.testset.notes)),
    ]
    return "\n".join(map(printable, lines))
