"""Leaderboard: every cell by every metric."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from harness import numbers
from harness.report.blocks import Block, Measure, Table, Text
from harness.report.sections import sections
from harness.report.view import View, counts, listed, measure
from harness.stored import AggregateLine, CellLine

_WIDTH = 6
"""Metrics to a table; more would not fit a page."""


@sections.register
@dataclass(frozen=True)
class Leaderboard:
    """Means with intervals and n; metrics of a chunker's own chunks in tables of their own."""

    name: ClassVar[str] = "leaderboard"
    order: ClassVar[int] = 20
    title: ClassVar[str] = "Leaderboard"

    def blocks(self, view: View) -> Sequence[Block]:
        """Return the tables: comparable metrics first, then those within one chunker."""
        if not view.run.cells:
            return []
        shared = [name for name in view.metrics if not view.divided(name)]
        own = [name for name in view.metrics if view.divided(name)]
        said: list[Block] = [_table(view, view.cells, names, "") for names in _portions(shared)]
        if own:
            said.append(Text("Within one chunker only", "plain"))
            said.append(
                Text(
                    "These metrics count the chunks of each cell's own index as the relevant "
                    "items, and two overlapping chunks with the same passage are two. They compare "
                    "cells of the same chunker; across chunkers read passage_recall, "
                    "evidence_recall, or a metric with labels=documents.",
                    "note",
                )
            )
            for chunker in dict.fromkeys(cell.chunker for cell in view.cells):
                cells = [cell for cell in view.cells if cell.chunker == chunker]
                said += [_table(view, cells, names, chunker) for names in _portions(own)]
        said += _notes(view)
        said += _targets(view)
        return said


def _portions(names: Sequence[str]) -> list[Sequence[str]]:
    """Return the names in as few portions as fit a page, none much shorter than another."""
    tables = -(-len(names) // _WIDTH)
    size = -(-len(names) // max(tables, 1))
    return [names[start : start + size] for start in range(0, len(names), max(size, 1))]


def _table(view: View, cells: Sequence[CellLine], names: Sequence[str], caption: str) -> Table:
    marked = {
        name: view.marked(cells, [view.score(cell, name) for cell in cells], name) for name in names
    }
    alike = {name: _alike(counts(view.score(cell, name)) for cell in cells) for name in names}
    rows: list[list[str | Measure]] = []
    for at, cell in enumerate(cells):
        row: list[str | Measure] = [_named(view, cell)]
        for name in names:
            score = view.score(cell, name)
            note = _cell_note(view, cell, name, alike[name])
            row.append(measure(score, marked[name][at], note))
        rows.append(row)
    return Table(["Cell", *names], rows, caption, ["", *alike.values()])


def _named(view: View, cell: CellLine) -> str:
    marks = " (baseline)" if cell.name == view.run.baseline else ""
    return view.name(cell) + marks + (" (floor)" if cell.floor else "")


def _alike(texts: Iterable[str]) -> str:
    """Return the one text that all are; "" where they differ, and each must be said."""
    different = set(texts)
    return different.pop() if len(different) == 1 else ""


def _cell_note(view: View, cell: CellLine, name: str, in_heading: str) -> str:
    score = view.score(cell, name)
    said = [] if in_heading else [counts(score)]
    if word := view.word(cell, name):
        said.insert(0, word)
    ceiling = view.ceiling(cell, name)
    if ceiling is not None:
        said.append(f"at most {numbers.score(ceiling)}")
    judged = view.judged_share(cell, name)
    if judged is not None and judged < 1:
        said.append(f"{judged:.0%} judged".replace("%", "\u00a0%"))
    if view.copied(cell, name):
        said.append("does not discriminate")
    return ", ".join(said)


def _notes(view: View) -> list[Block]:
    said: list[Block] = [
        Text(
            "Bars: the 95 % interval of the mean, from 0 to 1. n: scored and failed questions. "
            "The mean counts a failed question as 0.",
            "note",
        )
    ]
    if any((view.judged_share(c, name) or 1) < 1 for c in view.cells for name in view.metrics):
        said.append(
            Text(
                "Judged: the share of the documents read that anybody judged; the others count "
                "as not relevant.",
                "note",
            )
        )
    if any(view.score(c, name).judge_failed for c in view.cells for name in view.metrics):
        said.append(
            Text(
                "Judge failed: the judge gave no verdict that could be read; the mean leaves such "
                "questions out. With them: the mean with all of them at 0, and at 1.",
                "note",
            )
        )
    copied = [name for name in view.metrics if any(view.copied(c, name) for c in view.run.cells)]
    for name in copied:
        said.append(
            Text(
                f"{name} does not discriminate: a generator that copies sentences of its context "
                "scores 1 on every answer by construction, and 0 on every decline.",
                "note",
            )
        )
    care = [name for name in view.metrics if view.with_care(name)]
    if care:
        text = f"{listed(care)}: each chunker is judged by its own chunks; read across with care."
        said.append(Text(text, "note"))
    if any(view.word(cell, name) for cell in view.cells for name in view.metrics):
        text = "Words such as good or poor, under a mean, are for reading only: nothing is gated."
        said.append(Text(text, "note"))
    uncut = [name for name in view.metrics if view.uncut(name)]
    if uncut:
        text = f"{listed(uncut)}: without @k: the first N, as many as are retrieved."
        said.append(Text(text, "note"))
    about = view.run.provenance.metrics
    for name, metric in about.items():
        if "ideal=retrieved" in metric.spec:
            said.append(
                Text(f"{name} ranks against what was retrieved: it hides what was missed.", "note")
            )
    return said


Outcome = Literal["met", "missed", "undecided", "out of reach"]


def _targets(view: View) -> list[Block]:
    if not view.run.targets:
        return []
    rows: list[list[str | Measure]] = []
    for cell in view.cells:
        for metric, target in view.run.targets.items():
            score = view.score(cell, metric)
            outcome = _outcome(score, target, view.ceiling(cell, metric))
            rows.append([view.name(cell), metric, numbers.score(target), measure(score), outcome])
    head = ["Cell", "Metric", "Target", "Mean", "Outcome"]
    return [Table(head, rows, "Targets: met or missed where the whole interval says so.")]


def _outcome(score: AggregateLine, target: float, ceiling: float | None) -> Outcome:
    if ceiling is not None and target > ceiling:
        return "out of reach"
    if score.low is None or score.high is None:
        return "undecided"
    return "met" if score.low >= target else "missed" if score.high < target else "undecided"
