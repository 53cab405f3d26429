"""What the terminal shows: progress while a run goes on, and a summary at its end."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from harness import numbers
from harness.evaluation import Evaluation
from harness.report.view import View, counts
from harness.running import Prepared
from harness.store import load
from harness.stored import CellLine, RunFile

_WIDTH = 100
_LONGEST = 45
"""Columns for the name of a metric; a longer one is cut."""
_DIFFERS = "n: see the report"
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
        self._bars.console.print(text, markup=False, highlight=False)

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
        print(text, file=sys.stderr, flush=True)

    def stop(self) -> None:
        pass


def summary(folder: Path) -> str:
    """Return the score table of a run and where its report is; at most 100 columns wide."""
    view = View(load(folder))
    lines = [f"Ranked by {view.by}, 95 % interval", ""]
    for letter, cell in zip(_letters(), view.cells, strict=False):
        score = view.score(cell)
        ends = numbers.interval(score.low, score.high)
        figures = f"  {letter}  {numbers.score(score.mean)}  {ends:>11}  "
        lines.append(figures + _short(view.name(cell) + _marks(view, cell), 98 - len(figures)))
        reason = f"no interval: {score.note}, " if score.low is None and score.note else ""
        lines += textwrap.wrap(
            reason + counts(score),
            _WIDTH,
            initial_indent=" " * len(figures),
            subsequent_indent=" " * len(figures),
        )
    lines += ["", *_table(view)]
    if view.run.warnings:
        lines += ["", *(f"warning: {_short(each, 90)}" for each in view.run.warnings)]
    spent = numbers.seconds(view.run.seconds.get("all"))
    lines += ["", f"{spent}; report: {folder / 'report.html'}"]
    return "\n".join(lines)


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
            lines.append("\t".join([id_, *(numbers.score(value) for value in row.values())]))
        lines.append("")
    lines.append(str(found))
    if found.missing:
        shown = ", ".join(found.missing[:10]) + (", …" if len(found.missing) > 10 else "")
        lines.append(
            f"missing, counted as 0: {numbers.count(len(found.missing), 'question')}: {shown}"
        )
    return "\n".join(lines)


def evaluation_as_json(found: Evaluation) -> str:
    """Return an evaluation as JSON: `metrics`, `questions`, `missing`, `notes`."""
    return json.dumps(found.as_dict(), indent=1, ensure_ascii=False)


def checked(prepared: Prepared) -> str:
    """Return what a checked configuration will do."""
    questions = prepared.testset.questions
    declined = sum(not question.answerable for question in questions)
    names = [cell.name for cell in prepared.config.cells]
    names += [cell.name for cell in prepared.config.systems]
    lines = [
        f"{prepared.config.shown} is valid",
        f"  corpus: {numbers.count(len(prepared.corpus.documents), 'document')}",
        f"  test set: {numbers.count(len(questions), 'question')}, {declined} unanswerable; "
        f"judged by {prepared.plan.labels}",
        f"  grid: {numbers.count(len(names), 'cell')}",
        *(f"    {name}" for name in names),
        *(f"  skipped: {each.where}: {each.what}" for each in prepared.corpus.skipped),
        *(f"  note: {note}" for note in (*prepared.corpus.notes, *prepared.testset.notes)),
    ]
    return "\n".join(lines)


def _table(view: View) -> list[str]:
    """Return one line a metric and one column a cell, in as many tables as fit the width.

    At the end of a line stands what its means rest on.
    """
    wide = min(max(map(len, view.metrics), default=0), _LONGEST) + 2
    resting = {name: _resting(view, name, _WIDTH - wide - 10) for name in view.metrics}
    kept = 3 + max(map(len, resting.values()), default=0)
    room = max(1, (_WIDTH - wide - kept) // 7)
    pairs = list(zip(_letters(), view.cells, strict=False))
    lines: list[str] = []
    for start in range(0, len(pairs), room):
        shown = pairs[start : start + room]
        lines += ["", ""] if start else []
        lines.append(" " * wide + "".join(f"{letter:>7}" for letter, _ in shown))
        for name in view.metrics:
            values = "".join(f"{numbers.score(view.score(c, name).mean):>7}" for _, c in shown)
            marks = ("*" if view.divided(name) else "") + (
                "†" if any(view.copied(cell, name) for _, cell in shown) else ""
            )
            named = _short(name, wide - 2)
            lines.append(f"{named:<{wide}}{values} {marks:<2}{resting[name]}")
            if resting[name] == _DIFFERS and any(view.score(c, name).failed for _, c in shown):
                finished = [view.score(cell, name).mean_finished for _, cell in shown]
                figures = "".join(f"{numbers.score(value):>7}" for value in finished)
                lines.append(f"{'':{wide}}{figures}   over those that finished")
    if any(view.divided(name) for name in view.metrics):
        lines.append("* counts each index's own chunks: compare cells of one chunker only")
    if any(view.copied(cell, name) for cell in view.cells for name in view.metrics):
        lines.append("† 1 by construction for every answer: does not discriminate")
    return lines


def _resting(view: View, name: str, room: int) -> str:
    """Return what the means of a metric rest on, where that is one for all cells and has room."""
    said = {counts(view.score(cell, name)) for cell in view.cells}
    text = said.pop()
    return text if not said and len(text) <= room else _DIFFERS


def _marks(view: View, cell: CellLine) -> str:
    return (" (baseline)" if cell.name == view.run.baseline else "") + (
        " (floor)" if cell.floor else ""
    )


def _letters() -> Sequence[str]:
    single = [chr(ord("A") + at) for at in range(26)]
    return [*single, *(first + second for first in single for second in single)]


def _short(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"
