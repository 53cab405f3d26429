"""Recall and precision at every k, from one reading of each stored ranking.

The values are those of the library's metrics of the same names, with the run's settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from harness import coverage, lines, spans
from harness.labels import has
from harness.metrics.passage import PassageRecall
from harness.records import Case, Span
from harness.report.view import View
from harness.stored import CellLine, JudgedLine, RecordLine

_KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
Shares = Sequence[float | None]
"""One value for each measure; None: not scored."""


@dataclass(frozen=True)
class Curve:
    """A cell's mean of one measure at each k, over `n` questions."""

    means: tuple[float, ...]
    n: int


def cuts(view: View) -> list[int]:
    """Return each k that a curve has a point at: up to what the run retrieves."""
    settings = view.run.config["resolved"]
    last = int(settings["retrieve"])
    wanted = {k for k in (*_KS, sent(view) or 0) if 0 < k < last}
    return sorted(wanted | {last})


def sent(view: View) -> int | None:
    """Return how many results reach the prompt; None where there is none, or a system decides."""
    settings = view.run.config["resolved"]
    chunks = (settings.get("context") or {}).get("chunks")
    prompts = any(cell.generator != "none" for cell in view.run.cells)
    return int(chunks) if chunks and prompts and not settings.get("system") else None


def measures(view: View) -> tuple[str, ...]:
    """Return what may be compared between the cells of a run, recall first.

    Across chunkers nothing that counts the chunks of an index may, but for hit rate.
    """
    labels = view.run.provenance.labels
    if not view.several_chunkers or labels == "documents":
        return "recall", "precision"
    return ("passage_recall", "evidence_precision") if labels == "evidence" else ("hit_rate",)


class ByRank:
    """The curves of a run's cells at each of `ks`, in order."""

    def __init__(self, view: View, ks: Sequence[int]) -> None:
        self._view = view
        self._ks = ks
        self._labels = view.run.provenance.labels
        self._level = int(view.run.config["resolved"].get("relevance_level", 1))
        self._cases: dict[str, Case] = {}
        self._known: dict[tuple[str, tuple[Span, ...]], tuple[float, int]] = {}

    def curves(self, cell: CellLine) -> list[Curve | None]:
        """Return a cell's curve of each of `measures`; None where no question is scored."""
        names = measures(self._view)
        scored: list[list[Sequence[float]]] = [[] for _ in names]
        read = self._passages if names[0] == "passage_recall" else self._judged
        for record in self._view.records(cell):
            for at, values in enumerate(self._of(record, read)):
                if values is not None:
                    scored[at].append(values)
        return [
            Curve(tuple(map(fmean, zip(*rows, strict=True))), len(rows)) if rows else None
            for rows in scored
        ]

    def _of(
        self, record: RecordLine, read: Callable[[RecordLine], Iterator[Shares]]
    ) -> list[Sequence[float] | None]:
        nothing: list[Sequence[float] | None] = [None] * len(measures(self._view))
        case = self._case(record)
        if not record.ranked or not case.question.answerable:
            return nothing
        if record.error is not None and record.error.stage == "retrieval":
            carries = has(case.question, self._labels)
            return [[0.0] * len(self._ks)] * len(nothing) if carries else nothing
        columns = list(zip(*read(record), strict=True)) or nothing
        return [None if column is None or None in column else column for column in columns]

    def _case(self, record: RecordLine) -> Case:
        if record.question not in self._cases:
            line = self._view.question(record)
            self._cases[record.question] = Case(lines.question(line))
        return self._cases[record.question]

    def _judged(self, record: RecordLine) -> Iterator[Shares]:
        judged = record.judged.get(self._labels)
        if judged is None:
            return
        found = list(accumulate((self._relevant(grade) for grade in judged.grades), initial=0))
        there = self._inventory(judged)
        for k in self._ks:
            hits = found[min(k, len(found) - 1)]
            if len(measures(self._view)) == 1:
                yield (float(hits > 0),)
            else:
                recall = None if there is None else hits / there if there else 0.0
                yield recall, hits / k

    def _relevant(self, grade: int | None) -> bool:
        return grade is not None and grade >= self._level

    def _inventory(self, judged: JudgedLine) -> int | None:
        return None if judged.inventory is None else sum(map(self._relevant, judged.inventory))

    def _passages(self, record: RecordLine) -> Iterator[Shares]:
        case = self._case(record)
        if not case.question.passages:
            return
        gold: dict[str, list[Span]] = {}
        for passage in case.question.passages:
            gold.setdefault(passage.span.doc, []).append(passage.span)
        touching: list[Span] = []
        read = size = 0
        for k in self._ks:
            for hit in record.hits[read:k]:
                size += hit.end - hit.start
                if any(p.start < hit.end and hit.start < p.end for p in gold.get(hit.doc, ())):
                    touching.append(Span(hit.doc, hit.start, hit.end))
            read = k
            whole, found = self._held(record.question, case, tuple(touching))
            yield whole, found / size if size else 0.0

    def _held(self, question: str, case: Case, touching: tuple[Span, ...]) -> tuple[float, int]:
        """Return the share of groups that are whole, and the gold characters, in some chunks.

        Chunks that touch no passage change neither, and are not among them.
        """
        key = question, touching
        if key not in self._known:
            whole = coverage.whole_groups(case, touching, PassageRecall.whole)
            gold = coverage.gold(case, touching)
            found = spans.overlap(gold, spans.union(touching))
            self._known[key] = whole / len(coverage.groups(case)), found
        return self._known[key]
