"""Computes recall and precision at every k, in one pass over each stored ranking.

The values are those of the library's metrics of the same names, with the run's settings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from harness.metrics.evidence import PassageRecall
from harness.ranking import coverage
from harness.ranking.relevance import has_label
from harness.records import Case, Judged, Span
from harness.report.run_view import View
from harness.store.cell_results import CellResult
from harness.store.frame import Trace
from harness.text import spans

_USUAL_KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
Shares = Sequence[float | None]
"""One value for each measure; None: not scored."""


@dataclass(frozen=True)
class Curve:
    """A cell's mean of one measure at each k, over `n` questions."""

    means: tuple[float, ...]
    n: int


def curve_ks(view: View) -> list[int]:
    """Return each k that a curve has a point at: up to what the run retrieves."""
    settings = view.run.config["resolved"]
    last = int(settings["retrieve"])
    ks = {k for k in (*_USUAL_KS, prompt_results(view) or 0) if 0 < k < last}
    return sorted(ks | {last})


def prompt_results(view: View) -> int | None:
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


class CurveReader:
    """Reads the curves of a run's cells at each of `ks`, in order."""

    def __init__(self, view: View, ks: Sequence[int]) -> None:
        self._view = view
        self._ks = ks
        self._labels = view.run.provenance.labels
        self._level = int(view.run.config["resolved"].get("relevance_level", 1))
        self.depth = 0
        """How many hits the longest ranking had of those read so far."""
        self._cases: dict[str, Case] = {}
        self._gold_cache: dict[tuple[str, tuple[Span, ...]], tuple[float, int]] = {}

    def curves(self, cell: CellResult) -> list[Curve | None]:
        """Return a cell's curve of each of `measures`; None where no question is scored."""
        names = measures(self._view)
        scored: list[list[Sequence[float]]] = [[] for _ in names]
        shares_of = self._passage_shares if names[0] == "passage_recall" else self._judged_shares
        for record in self._view.frame(cell).traces:
            self.depth = max(self.depth, len(record.hits))
            for number, values in enumerate(self._record_shares(record, shares_of)):
                if values is not None:
                    scored[number].append(values)
        return [
            Curve(tuple(map(fmean, zip(*rows, strict=True))), len(rows)) if rows else None
            for rows in scored
        ]

    def _record_shares(
        self, record: Trace, shares_of: Callable[[Trace], Iterator[Shares]]
    ) -> list[Sequence[float] | None]:
        nothing: list[Sequence[float] | None] = [None] * len(measures(self._view))
        case = self._case(record)
        if not record.ranked or not case.question.answerable:
            return nothing
        if record.error is not None and record.error.stage == "retrieval":
            carries = has_label(case.question, self._labels)
            return [[0.0] * len(self._ks)] * len(nothing) if carries else nothing
        columns = list(zip(*shares_of(record), strict=True)) or nothing
        return [None if column is None or None in column else column for column in columns]

    def _case(self, record: Trace) -> Case:
        if record.question not in self._cases:
            line = self._view.stored.questions[record.question]
            self._cases[record.question] = Case(line)
        return self._cases[record.question]

    def _judged_shares(self, record: Trace) -> Iterator[Shares]:
        judged = record.judged.get(self._labels)
        if judged is None:
            return
        relevant_found = list(
            accumulate((self._is_relevant(grade) for grade in judged.grades), initial=0)
        )
        relevant_total = self._count_relevant(judged)
        for k in self._ks:
            hits = relevant_found[min(k, len(relevant_found) - 1)]
            if len(measures(self._view)) == 1:
                yield (float(hits > 0),)
            else:
                recall = (
                    None
                    if relevant_total is None
                    else hits / relevant_total
                    if relevant_total
                    else 0.0
                )
                yield recall, hits / k

    def _is_relevant(self, grade: int | None) -> bool:
        return grade is not None and grade >= self._level

    def _count_relevant(self, judged: Judged) -> int | None:
        return None if judged.inventory is None else sum(map(self._is_relevant, judged.inventory))

    def _passage_shares(self, record: Trace) -> Iterator[Shares]:
        case = self._case(record)
        if not case.question.passages:
            return
        gold: dict[str, list[Span]] = {}
        for passage in case.question.passages:
            gold.setdefault(passage.span.doc, []).append(passage.span)
        touching: list[Span] = []
        previous_k = size = 0
        for k in self._ks:
            for doc, start, end in record.hits[previous_k:k]:
                size += end - start
                if any(p.start < end and start < p.end for p in gold.get(doc, ())):
                    touching.append(Span(doc, start, end))
            previous_k = k
            whole, gold_characters = self._gold_in_chunks(record.question, case, tuple(touching))
            yield whole, gold_characters / size if size else 0.0

    def _gold_in_chunks(
        self, question: str, case: Case, touching: tuple[Span, ...]
    ) -> tuple[float, int]:
        """Return the share of groups that are whole, and the gold characters, in some chunks.

        Chunks that touch no passage change neither, and are not among them.
        """
        key = question, touching
        if key not in self._gold_cache:
            whole = coverage.count_whole_groups(case, touching, PassageRecall.whole)
            gold = coverage.gold_spans(case, touching)
            characters = spans.overlap(gold, spans.union(touching))
            self._gold_cache[key] = whole / len(coverage.passage_groups(case)), characters
        return self._gold_cache[key]
