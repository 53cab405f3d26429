"""Computes the highest recall that a chunker allows, whatever is retrieved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.metrics import metrics
from harness.records import Case, Outcome, Question, Score, Span
from harness.stats.aggregate_scores import aggregate
from harness.store.run_file import ChunkerCeiling


class CeilingScores:
    """Scores the ceilings of a chunker at `k` chunks, from the outcomes of one of its cells.

    With a `parent` they are those of the chunks that are handed over.
    """

    def __init__(self, chunker: str, k: int) -> None:
        self._chunker, self._k = chunker, k
        specs = (f"evidence_ceiling@{k}", "chunk_ceiling")
        self._scores: dict[str, list[Score]] = {spec: [] for spec in specs}
        self._questions: list[str] = []

    def add(self, outcome: Outcome, question: Question) -> None:
        """Take the next outcome."""
        near = outcome.touching
        case = Case(
            question, touching=None if near is None else tuple(Span(*place) for place in near)
        )
        self._questions.append(question.id)
        for spec, scores in self._scores.items():
            metric: Any = metrics.build(spec)
            scores.append(metric.score(case))

    def line(self, clusters: Mapping[str, str] | None = None) -> ChunkerCeiling:
        """Return what the chunker allows; `clusters` names that of each question."""
        groups = None if clusters is None else [clusters[id_] for id_ in self._questions]
        of_recall, of_chunks = (
            aggregate(scores, clusters=groups) for scores in self._scores.values()
        )
        return ChunkerCeiling(
            chunker=self._chunker, k=self._k, evidence_recall=of_recall, chunk_ceiling=of_chunks
        )
