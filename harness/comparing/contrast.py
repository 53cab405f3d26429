"""Two cells on the questions that both sides asked: their values, side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.comparing.pairing import Pairing
from harness.comparing.sides import Result, Side
from harness.metrics import metrics as registry
from harness.scoring import total_of
from harness.statistics.aggregate import Total
from harness.statistics.differences import Pair
from harness.stored import ScoreLine

Floats = NDArray[np.float64]


class Contrast:
    """A cell of a baseline, the left one, and a cell of a run, on the questions they share."""

    def __init__(self, baseline: Side, run: Side, pairing: Pairing, shared: Sequence[str]) -> None:
        self.pairing = pairing
        self.left, self.right = baseline.cells[pairing.baseline], run.cells[pairing.run]
        self.baseline, self.run, self.shared = baseline, run, shared
        self._same: dict[str, tuple[list[str], Floats, Floats]] = {}
        self._alone: dict[str, list[tuple[str, str, str, str]]] = {}

    def pair(self, metric: str, ids: Collection[str] | None = None) -> Pair:
        """Return one metric of both, the run's left, on `ids` alone if they are given."""
        known, before, after = self._known(metric)
        chosen = [at for at, id_ in enumerate(known) if ids is None or id_ in ids]
        asked = [known[at] for at in chosen]
        unpaired = sum(ids is None or lone[0] in ids for lone in self.unpaired(metric))
        total = self._total(metric)
        return Pair(after[chosen], before[chosen], total, self._clusters(asked), unpaired)

    def values(
        self, metric: str, ids: Collection[str] | None = None
    ) -> tuple[float | None, float | None]:
        """Return the baseline's and the run's value on the questions that both have."""
        pair = self.pair(metric, ids)
        if not len(pair.left):
            return None, None
        if pair.total is None:
            return float(pair.right.mean()), float(pair.left.mean())
        before, after = (pair.total(each.sum(axis=0).tolist()) for each in (pair.right, pair.left))
        return before, after

    def finished(self) -> Pair:
        """Return which questions did not fail, 1 or 0, where both cells were asked them."""
        before, after = self._finished
        return Pair(after, before)

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
        found: dict[tuple[str, str], set[str]] = {}
        for id_ in self.shared:
            asked = self.run.questions[id_]
            for way, name in (("Category", asked.category), ("Difficulty", asked.difficulty)):
                if name:
                    found.setdefault((way, name), set()).add(id_)
        several = {way for way, _ in found if sum(each == way for each, _ in found) > 1}
        return {key: frozenset(ids) for key, ids in sorted(found.items()) if key[0] in several}

    def gaps(self, metric: str) -> list[tuple[str, float, float]]:
        """Return each question whose two values differ, the greatest gap first."""
        if self._total(metric) is not None or metric in self.untested([metric]):
            return []
        known, before, after = self._known(metric)
        found = [
            (id_, float(one), float(other))
            for id_, one, other in zip(known, before, after, strict=True)
            if one != other
        ]
        return sorted(found, key=lambda gap: -abs(gap[1] - gap[2]))

    def unpaired(self, metric: str) -> list[tuple[str, str, str, str]]:
        """Return each question with a value on one side alone: id, metric, which lacks it, why.

        A question that a metric does not apply to on either side is none.
        """
        if metric not in self._alone:
            found = []
            for id_ in self.shared:
                before = _line(self.left.results, id_, metric)
                after = _line(self.right.results, id_, metric)
                if _has(before) and not _has(after):
                    found.append((id_, metric, "run", _why(after)))
                elif _has(after) and not _has(before):
                    found.append((id_, metric, "baseline", _why(before)))
            self._alone[metric] = found
        return self._alone[metric]

    def untested(self, metrics: Sequence[str]) -> dict[str, str]:
        """Return why a metric is not compared between these two cells; nothing of the others."""
        about = self.run.provenance.metrics
        found = {
            name: "descriptive: more of it is neither better nor worse"
            for name in metrics
            if about[name].kind == "descriptive"
        }
        if self.left.chunker != self.right.chunker:
            within = [name for name in metrics if about[name].within_chunker]
            why = "it counts an index's own chunks, and the chunkers differ"
            found |= dict.fromkeys(within, why)
        return found

    def _known(self, metric: str) -> tuple[list[str], Floats, Floats]:
        """Return the questions with a value on both sides, and the values or counts of each."""
        if metric not in self._same:
            lines = [
                (id_, before, after)
                for id_ in self.shared
                if _has(before := _line(self.left.results, id_, metric))
                and _has(after := _line(self.right.results, id_, metric))
            ]
            self._same[metric] = (
                [id_ for id_, _, _ in lines],
                _numbers([before for _, before, _ in lines]),
                _numbers([after for _, _, after in lines]),
            )
        return self._same[metric]

    def _total(self, metric: str) -> Total | None:
        about = self.run.provenance.metrics[metric]
        if about.kind != "whole set":
            return None
        return total_of(registry.build(about.spec))

    def _clusters(self, ids: Sequence[str]) -> NDArray[np.int64] | None:
        """Return the number of each question's cluster, where a side drew whole ones."""
        sides = (self.run.questions, self.baseline.questions)
        drawn = [side for side in sides if any(each.cluster for each in side.values())]
        if not drawn:
            return None
        names = [drawn[0][id_].cluster or id_ for id_ in ids]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
        return np.array([numbers[name] for name in names], dtype=np.int64)


def _line(results: Mapping[str, Result], question: str, metric: str) -> ScoreLine | None:
    result = results.get(question)
    return None if result is None else result.scores.get(metric)


def _has(line: ScoreLine | None) -> bool:
    return line is not None and (line.value is not None or bool(line.counts))


def _why(line: ScoreLine | None) -> str:
    if line is None:
        return "it was not asked"
    return f"{line.state.replace('_', ' ')}: {line.reason}" if line.reason else line.state


def _numbers(lines: Sequence[ScoreLine | None]) -> Floats:
    rows = [(line.counts or line.value) for line in lines if line is not None]
    return np.array(rows, dtype=np.float64)
