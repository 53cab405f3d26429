"""Values of two cells side by side, on the questions that both sides asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.comparison.operand import Operand, QuestionResult
from harness.comparison.pairing import Pairing
from harness.metrics.named_metrics import stored_total
from harness.records import Score
from harness.stats.paired_units import PairedScores
from harness.stats.whole_sets import Total

Floats = NDArray[np.float64]


class CellPair:
    """A cell of a baseline, the left one, and a cell of a run, on the questions they share."""

    def __init__(
        self, baseline: Operand, run: Operand, pairing: Pairing, shared: Sequence[str]
    ) -> None:
        self.pairing = pairing
        self.left, self.right = baseline.cells[pairing.baseline], run.cells[pairing.run]
        self.baseline, self.run, self.shared = baseline, run, shared
        self._values_by_metric: dict[str, tuple[list[str], Floats, Floats]] = {}
        self._unpaired_by_metric: dict[str, list[tuple[str, str, str, str]]] = {}

    def pair(self, metric: str, ids: Collection[str] | None = None) -> PairedScores:
        """Return one metric of both, the run's left, on `ids` alone if they are given."""
        question_ids, before, after = self._shared_values(metric)
        chosen = [index for index, id_ in enumerate(question_ids) if ids is None or id_ in ids]
        chosen_ids = [question_ids[index] for index in chosen]
        unpaired = sum(ids is None or lone[0] in ids for lone in self.unpaired(metric))
        numbers = np.array([self._numbers[id_] for id_ in chosen_ids], dtype=np.int64)
        clusters = None if self._clusters is None else self._clusters[numbers]
        total = self._total(metric)
        return PairedScores(after[chosen], before[chosen], total, clusters, unpaired, numbers)

    def values(
        self, metric: str, ids: Collection[str] | None = None
    ) -> tuple[float | None, float | None]:
        """Return the baseline's and the run's value on the questions that both have."""
        pair = self.pair(metric, ids)
        if not len(pair.left):
            return None, None
        if pair.total is None:
            return float(pair.right.mean()), float(pair.left.mean())
        before, after = (
            pair.total(counts.sum(axis=0).tolist()) for counts in (pair.right, pair.left)
        )
        return before, after

    def finished(self) -> PairedScores:
        """Return which questions did not fail, 1 or 0, where both cells were asked them."""
        before, after = self._finished
        results = self.left.results, self.right.results
        both = [all(id_ in side for side in results) for id_ in self.shared]
        return PairedScores(after, before, questions=np.flatnonzero(both))

    def finished_shares(self) -> tuple[float | None, float | None]:
        """Return the baseline's and the run's share of questions that did not fail."""
        before, after = self._finished
        return (float(before.mean()), float(after.mean())) if len(before) else (None, None)

    @cached_property
    def _finished(self) -> tuple[Floats, Floats]:
        both = [id_ for id_ in self.shared if id_ in self.left.results]
        both = [id_ for id_ in both if id_ in self.right.results]
        cells = (self.left, self.right)
        before, after = (
            np.array([cell.results[id_].error is None for id_ in both], dtype=np.float64)
            for cell in cells
        )
        return before, after

    def segments(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Return the questions of each category and difficulty, where there are several."""
        by_segment: dict[tuple[str, str], set[str]] = {}
        for id_ in self.shared:
            question = self.run.questions[id_]
            for way, name in (("Category", question.category), ("Difficulty", question.difficulty)):
                if name:
                    by_segment.setdefault((way, name), set()).add(id_)
        several = {
            way for way, _ in by_segment if sum(other_way == way for other_way, _ in by_segment) > 1
        }
        return {key: frozenset(ids) for key, ids in sorted(by_segment.items()) if key[0] in several}

    def gaps(self, metric: str) -> list[tuple[str, float, float]]:
        """Return each question whose two values differ, the greatest gap first."""
        if self._total(metric) is not None or metric in self.untested([metric]):
            return []
        question_ids, before, after = self._shared_values(metric)
        differing = [
            (id_, float(one), float(other))
            for id_, one, other in zip(question_ids, before, after, strict=True)
            if one != other
        ]
        return sorted(differing, key=lambda gap: -abs(gap[1] - gap[2]))

    def unpaired(self, metric: str) -> list[tuple[str, str, str, str]]:
        """Return each question with a value on one side alone: id, metric, which lacks it, why.

        A question that a metric does not apply to on either side is none.
        """
        if metric not in self._unpaired_by_metric:
            lone = []
            for id_ in self.shared:
                before = _score_of(self.left.results, id_, metric)
                after = _score_of(self.right.results, id_, metric)
                if _has_value(before) and not _has_value(after):
                    lone.append((id_, metric, "run", _describe_missing(after)))
                elif _has_value(after) and not _has_value(before):
                    lone.append((id_, metric, "baseline", _describe_missing(before)))
            self._unpaired_by_metric[metric] = lone
        return self._unpaired_by_metric[metric]

    def untested(self, metrics: Sequence[str]) -> dict[str, str]:
        """Return why a metric is not compared between these two cells; nothing of the others."""
        about = self.run.provenance.metrics
        reasons = {
            name: "descriptive: more of it is neither better nor worse"
            for name in metrics
            if about[name].kind == "descriptive"
        }
        if self.left.chunker != self.right.chunker:
            within = [name for name in metrics if about[name].within_chunker]
            reason = "it counts an index's own chunks, and the chunkers differ"
            reasons |= dict.fromkeys(within, reason)
        return reasons

    def _shared_values(self, metric: str) -> tuple[list[str], Floats, Floats]:
        """Return the questions with a value on both sides, and the values or counts of each."""
        if metric not in self._values_by_metric:
            lines = [
                (id_, before, after)
                for id_ in self.shared
                if _has_value(before := _score_of(self.left.results, id_, metric))
                and _has_value(after := _score_of(self.right.results, id_, metric))
            ]
            self._values_by_metric[metric] = (
                [id_ for id_, _, _ in lines],
                _to_array([before for _, before, _ in lines]),
                _to_array([after for _, _, after in lines]),
            )
        return self._values_by_metric[metric]

    def _total(self, metric: str) -> Total | None:
        return stored_total(self.run.provenance.metrics[metric])

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {id_: number for number, id_ in enumerate(self.shared)}

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        """The number of each shared question's cluster, where a side drew whole ones."""
        sides = (self.run.questions, self.baseline.questions)
        clustered = [side for side in sides if any(question.cluster for question in side.values())]
        if not clustered:
            return None
        names = [clustered[0][id_].cluster or id_ for id_ in self.shared]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] for name in names], dtype=np.int64)


def _score_of(results: Mapping[str, QuestionResult], question: str, metric: str) -> Score | None:
    result = results.get(question)
    return None if result is None else result.scores.get(metric)


def _has_value(line: Score | None) -> bool:
    return line is not None and (line.value is not None or bool(line.counts))


def _describe_missing(line: Score | None) -> str:
    if line is None:
        return "it was not asked"
    return f"{line.state.replace('_', ' ')}: {line.reason}" if line.reason else line.state


def _to_array(lines: Sequence[Score | None]) -> Floats:
    rows = [(line.counts or line.value) for line in lines if line is not None]
    return np.array(rows, dtype=np.float64)
