"""Computes recall and precision at every k, in one pass over each stored ranking.

The values are those of the library's metrics of the same names, with the run's settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean

from harness.metrics.evidence import PassageRecall
from harness.ranking import relevance
from harness.ranking.relevance import has_label
from harness.records import Case, Span
from harness.store.cell_results import CellResult
from harness.store.frame import Trace
from harness.store.reader import StoredRun
from harness.text import spans

_USUAL_KS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Curve:
    """A cell's mean of one measure at each k, over `n` questions."""

    means: tuple[float, ...]
    n: int


def curve_ks(stored: StoredRun) -> list[int]:
    """Return each k that a curve has a point at: up to what the run retrieves."""
    last = int(stored.run.config["resolved"]["retrieve"])
    return sorted({k for k in (*_USUAL_KS, prompt_results(stored) or 0) if 0 < k < last} | {last})


def prompt_results(stored: StoredRun) -> int | None:
    """Return how many results reach the prompt; None where there is none, or a system decides."""
    settings = stored.run.config["resolved"]
    chunks = (settings.get("context") or {}).get("chunks")
    prompts = any(cell.generator != "none" for cell in stored.run.cells)
    return int(chunks) if chunks and prompts and not settings.get("system") else None


def measures(stored: StoredRun) -> tuple[str, ...]:
    """Return what may be compared between the cells of a run, recall first.

    Across chunkers nothing that counts the chunks of an index may, but for hit rate.
    """
    labels = stored.run.provenance.labels
    if len({cell.chunker for cell in stored.run.cells}) == 1 or labels == "documents":
        return "recall", "precision"
    return ("passage_recall", "evidence_precision") if labels == "evidence" else ("hit_rate",)


class CurveReader:
    """Reads the curves of a run's cells at each of `ks`, in order."""

    def __init__(self, stored: StoredRun, ks: Sequence[int]) -> None:
        self._stored = stored
        self._ks = ks
        self._labels = stored.run.provenance.labels
        self._level = int(stored.run.config["resolved"].get("relevance_level", 1))
        self._measures = measures(stored)
        self._gold_cache: dict[tuple[str, tuple[Span, ...]], tuple[float, int]] = {}
        self.depth = 0
        """How many hits the longest ranking had of those read so far."""

    def curves(self, cell: CellResult) -> list[Curve | None]:
        """Return a cell's curve of each of `measures`; None where no question is scored."""
        scored: list[list[Sequence[float]]] = [[] for _ in self._measures]
        places = self._stored.places(cell.name)
        for trace in self._stored.frame.at(places).traces:
            self.depth = max(self.depth, len(trace.hits))
            # Of each measure the values at every k, None where the question is not scored by it.
            for rows, values in zip(scored, self._columns(trace), strict=False):
                known = [value for value in values if value is not None]
                if len(known) == len(values):
                    rows.append(known)
        return [
            Curve(tuple(map(fmean, zip(*rows, strict=True))), len(rows)) if rows else None
            for rows in scored
        ]

    def _columns(self, trace: Trace) -> Sequence[Sequence[float | None]]:
        case = Case(self._stored.questions[trace.question])
        if not trace.ranked or not case.question.answerable:
            return []
        if trace.error is not None and trace.error.stage == "retrieval":
            zeros = [0.0] * len(self._ks)
            return [zeros] * len(self._measures) if has_label(case.question, self._labels) else []
        of_passages = self._measures[0] == "passage_recall"
        shares = self._passage_shares(trace, case) if of_passages else self._judged_shares(trace)
        return list(zip(*shares, strict=True))

    def _judged_shares(self, trace: Trace) -> Iterator[Sequence[float | None]]:
        judged = trace.judged.get(self._labels)
        if judged is None:
            return
        relevant = [grade is not None and grade >= self._level for grade in judged.grades]
        found = list(accumulate(relevant, initial=0))
        inventory = None
        if judged.inventory is not None:
            inventory = sum(grade >= self._level for grade in judged.inventory)
        for k in self._ks:
            hits = found[min(k, len(relevant))]
            if len(self._measures) == 1:
                yield (float(hits > 0),)
            elif inventory is None:
                yield None, hits / k
            else:
                yield hits / inventory if inventory else 0.0, hits / k

    def _passage_shares(self, trace: Trace, case: Case) -> Iterator[Sequence[float | None]]:
        if not case.question.passages:
            return
        gold: dict[str, list[Span]] = {}
        for passage in case.question.passages:
            gold.setdefault(passage.span.doc, []).append(passage.span)
        touching: list[Span] = []
        previous_k = size = 0
        for k in self._ks:
            for doc, start, end in trace.hits[previous_k:k]:
                size += end - start
                if any(p.start < end and start < p.end for p in gold.get(doc, ())):
                    touching.append(Span(doc, start, end))
            previous_k = k
            whole, gold_characters = self._gold_in_chunks(case, tuple(touching))
            yield whole, gold_characters / size if size else 0.0

    def _gold_in_chunks(self, case: Case, touching: tuple[Span, ...]) -> tuple[float, int]:
        """Return the share of groups that are whole, and the gold characters, in some chunks.

        Chunks that touch no passage change neither, and are not among them.
        """
        key = case.question.id, touching
        if key not in self._gold_cache:
            whole = relevance.count_whole_groups(case, touching, PassageRecall.whole)
            gold = relevance.gold_spans(case, touching)
            characters = spans.overlap(gold, spans.union(touching))
            self._gold_cache[key] = whole / len(relevance.passage_groups(case)), characters
        return self._gold_cache[key]
