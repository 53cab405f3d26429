"""Pairs cells of a baseline and a run, and their values on the questions that both sides asked."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.comparison.operand import Incomparable, Operand, OperandCell
from harness.errors import HarnessError
from harness.metrics.named_metrics import stored_total
from harness.records import Score
from harness.stats.intervals import number_clusters
from harness.stats.paired_units import PairedScores
from harness.store.cell_labels import find_cells


@dataclass(frozen=True)
class Pairing:
    """A cell of the baseline and the cell of the run that is held against it, by their names."""

    baseline: str
    run: str


@dataclass(frozen=True)
class Gap:
    """A question's value by one metric on both sides."""

    question: str
    baseline: float
    run: float


@dataclass(frozen=True)
class Unpaired:
    """A question that one metric has a value of on one side alone, and why not on the other."""

    question: str
    metric: str
    missing: str
    reason: str


@dataclass
class _Values:
    """Values or counts of one metric, by the numbers of the questions that have them on both."""

    numbers: list[int] = field(default_factory=list)
    before: list[object] = field(default_factory=list)
    after: list[object] = field(default_factory=list)
    unpaired: list[Unpaired] = field(default_factory=list)


class CellPair:
    """A cell of a baseline, the left one, and a cell of a run, on the questions they share."""

    def __init__(
        self, baseline: Operand, run: Operand, pairing: Pairing, shared: Sequence[str]
    ) -> None:
        self.pairing = pairing
        self.left, self.right = baseline.cells[pairing.baseline], run.cells[pairing.run]
        self.baseline, self.run, self.shared = baseline, run, shared
        self._by_metric: dict[str, _Values] = {}

    def pair(self, metric: str, ids: Collection[str] | None = None) -> PairedScores:
        """Return one metric of both, the run's left, on `ids` alone if they are given."""
        values = self._values(metric)
        chosen = [
            index
            for index, number in enumerate(values.numbers)
            if ids is None or self.shared[number] in ids
        ]
        before, after = (
            np.array(side, dtype=np.float64)[chosen] for side in (values.before, values.after)
        )
        numbers = np.array(values.numbers, dtype=np.int64)[chosen]
        clusters = None if self._clusters is None else self._clusters[numbers]
        unpaired = sum(ids is None or lone.question in ids for lone in values.unpaired)
        total = stored_total(self.run.provenance.metrics[metric])
        return PairedScores(after, before, total, clusters, unpaired, numbers)

    def finished(self) -> PairedScores:
        """Return which questions did not fail, 1 or 0, where both cells were asked them."""
        both = [
            number
            for number, id_ in enumerate(self.shared)
            if id_ in self.left.results and id_ in self.right.results
        ]
        before, after = (
            np.array([cell.results[self.shared[n]].error is None for n in both], dtype=np.float64)
            for cell in (self.left, self.right)
        )
        return PairedScores(after, before, questions=np.array(both, dtype=np.int64))

    def segments(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Return the questions of each category and difficulty, where there are several."""
        by_way: dict[str, dict[str, set[str]]] = {"Category": {}, "Difficulty": {}}
        for id_ in self.shared:
            question = self.run.questions[id_]
            for way, name in (("Category", question.category), ("Difficulty", question.difficulty)):
                if name:
                    by_way[way].setdefault(name, set()).add(id_)
        return {
            (way, name): frozenset(ids)
            for way, by_name in by_way.items()
            if len(by_name) > 1
            for name, ids in sorted(by_name.items())
        }

    def gaps(self, metric: str) -> list[Gap]:
        """Return each question whose two values differ, the greatest gap first."""
        pair = self.pair(metric)
        if pair.total is not None or metric in self.untested([metric]):
            return []
        gaps = [
            Gap(self.shared[number], before, after)
            for number, before, after in zip(
                self._values(metric).numbers, pair.right.tolist(), pair.left.tolist(), strict=True
            )
            if before != after
        ]
        return sorted(gaps, key=lambda gap: -abs(gap.baseline - gap.run))

    def unpaired(self, metric: str) -> list[Unpaired]:
        """Return each question with a value on one side alone.

        A question that a metric does not apply to on either side is none.
        """
        return self._values(metric).unpaired

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

    def _values(self, metric: str) -> _Values:
        if metric not in self._by_metric:
            values = self._by_metric[metric] = _Values()
            for number, id_ in enumerate(self.shared):
                scores = [_score_of(cell, id_, metric) for cell in (self.left, self.right)]
                before, after = (None if it is None else it.counts or it.value for it in scores)
                if before is not None and after is not None:
                    values.numbers.append(number)
                    values.before.append(before)
                    values.after.append(after)
                elif before is not None:
                    lone = Unpaired(id_, metric, "run", _describe_missing(scores[1]))
                    values.unpaired.append(lone)
                elif after is not None:
                    lone = Unpaired(id_, metric, "baseline", _describe_missing(scores[0]))
                    values.unpaired.append(lone)
        return self._by_metric[metric]

    @cached_property
    def _clusters(self) -> NDArray[np.int64] | None:
        """The number of each shared question's cluster, where a side drew whole ones."""
        for side in (self.run.questions, self.baseline.questions):
            if any(question.cluster for question in side.values()):
                return number_clusters(side[id_].cluster or id_ for id_ in self.shared)
        return None


def mean_values(pair: PairedScores) -> tuple[float | None, float | None]:
    """Return the baseline's and the run's value on the questions that both have."""
    if not len(pair.left):
        return None, None
    if pair.total is None:
        return float(pair.right.mean()), float(pair.left.mean())
    before, after = (pair.total(counts.sum(axis=0).tolist()) for counts in (pair.right, pair.left))
    return before, after


def shared_questions(baseline: Operand, run: Operand) -> list[str]:
    """Return the questions that are the same on both sides, in the run's order."""
    return [
        id_
        for id_, question in run.questions.items()
        if id_ in baseline.questions and baseline.questions[id_].content == question.content
    ]


def pair_cells(
    baseline: Operand, run: Operand, shared: Sequence[str], requested: Sequence[str] = ()
) -> list[CellPair]:
    """Return the pairs of cells that are held against each other.

    Those that are `requested`, each as "A=B", A of the baseline and B of the run; else those of one
    name; else the only one on each side. Within one run: each cell against its baseline cell.

    Raises:
        HarnessError: a pair that is wanted names no cell, or more than one.
        Incomparable: nothing says which cells belong together.
    """
    names = _pair_names(baseline, run, requested)
    return [CellPair(baseline, run, pairing, shared) for pairing in names]


def _pair_names(baseline: Operand, run: Operand, requested: Sequence[str]) -> list[Pairing]:
    if requested:
        return list(dict.fromkeys(_parse_pair(text, baseline, run) for text in requested))
    if baseline is run:
        against = run.baseline
        if against not in run.cells or len(run.cells) < 2 or against is None:
            raise HarnessError(
                f"{run.id} alone: name another run to compare it with, or two of its cells: "
                f'--pair "A=B"\n{_list_cells(run)}'
            )
        return [Pairing(against, name) for name in run.cells if name != against]
    same = [Pairing(name, name) for name in run.cells if name in baseline.cells]
    if not same and len(baseline.cells) == len(run.cells) == 1:
        return [Pairing(*baseline.cells, *run.cells)]
    if not same:
        raise Incomparable(
            f"no cell of {run.id} has the name of one of {baseline.id}\n  say which belong "
            f'together: --pair "A=B"\n{_list_cells(baseline)}\n{_list_cells(run)}'
        )
    return same


def _parse_pair(text: str, baseline: Operand, run: Operand) -> Pairing:
    """Return the cells that "A=B" names; a cell's own name may hold "=" too."""
    matches = {
        Pairing(left, right)
        for at in re.finditer("=", text)
        for left in _named_cells(text[: at.start()], baseline)
        for right in _named_cells(text[at.end() :], run)
    }
    if len(matches) == 1:
        return matches.pop()
    problem = "names several cells" if matches else "does not name a cell on each side"
    raise HarnessError(
        f"--pair {text!r} {problem}\n"
        f"  write it as A=B, each a cell's name, its label or enough of its components\n"
        f"{_list_cells(baseline)}\n{_list_cells(run)}"
    )


def _named_cells(text: str, side: Operand) -> list[str]:
    return find_cells(text.strip(), {name: cell.parts for name, cell in side.cells.items()})


def _list_cells(side: Operand) -> str:
    return "\n".join([f"  cells of {side.id}:", *(f"    {name}" for name in side.cells)])


def _score_of(cell: OperandCell, question: str, metric: str) -> Score | None:
    result = cell.results.get(question)
    return None if result is None else result.scores.get(metric)


def _describe_missing(line: Score | None) -> str:
    if line is None:
        return "it was not asked"
    return f"{line.state.replace('_', ' ')}: {line.reason}" if line.reason else line.state
