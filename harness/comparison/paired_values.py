"""Pairs cells of two operands, and their values on the questions that both sides share."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.comparison.operand import Codes, Floats, Incomparable, Operand
from harness.errors import HarnessError
from harness.metrics.named_metrics import stored_total
from harness.stats.aggregate_scores import Total
from harness.stats.intervals import number_clusters
from harness.stats.paired_units import PairedScores
from harness.store.cell_labels import find_cells
from harness.store.frame import STATES, UNKNOWN


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


@dataclass(frozen=True, eq=False)
class SharedQuestions:
    """The questions that are the same in a baseline and a run, in the run's order."""

    baseline: Operand
    run: Operand

    @cached_property
    def ids(self) -> list[str]:
        """Their ids."""
        return [
            id_
            for id_, question in self.run.questions.items()
            if (same := self.baseline.questions.get(id_)) is not None
            and same.content == question.content
        ]

    @cached_property
    def before(self) -> Codes:
        """Their places in the baseline."""
        return self.baseline.places(self.ids)

    @cached_property
    def after(self) -> Codes:
        """Their places in the run."""
        return self.run.places(self.ids)

    @cached_property
    def clusters(self) -> Codes | None:
        """The number of each one's cluster, where a side drew whole ones."""
        for side, places in ((self.run, self.after), (self.baseline, self.before)):
            if (names := side.clusters) is not None:
                return number_clusters(names[place] for place in places.tolist())
        return None


class CellPair:
    """A cell of a baseline, the left one, and a cell of a run, on the questions they share."""

    def __init__(self, shared: SharedQuestions, pairing: Pairing) -> None:
        self.pairing, self.shared = pairing, shared
        self.left = shared.baseline.cells[pairing.baseline]
        self.right = shared.run.cells[pairing.run]

    def pair(self, metric: str, ids: Collection[str] | None = None) -> PairedScores:
        """Return one metric of both, the run's left, on `ids` alone if they are given."""
        before = self.left.columns[metric].values[self.shared.before]
        after = self.right.columns[metric].values[self.shared.after]
        total = stored_total(self.shared.run.provenance.metrics[metric])
        return self._paired(before, after, ids, total)

    def finished(self) -> PairedScores:
        """Return which questions did not fail, 1 or 0, where both cells were asked them."""
        before, after = (
            np.where(cell.asked, ~cell.failed, np.nan)[places]
            for cell, places in (
                (self.left, self.shared.before),
                (self.right, self.shared.after),
            )
        )
        return self._paired(before, after)

    def _paired(
        self,
        before: Floats,
        after: Floats,
        ids: Collection[str] | None = None,
        total: Total | None = None,
    ) -> PairedScores:
        has_before, has_after = (
            ~np.isnan(values if values.ndim == 1 else values[:, 0]) for values in (before, after)
        )
        if ids is not None:
            chosen = np.array([id_ in ids for id_ in self.shared.ids], dtype=np.bool_)
            has_before, has_after = has_before & chosen, has_after & chosen
        both = has_before & has_after
        clusters = self.shared.clusters
        return PairedScores(
            after[both],
            before[both],
            total,
            None if clusters is None else clusters[both],
            int((has_before ^ has_after).sum()),
            np.flatnonzero(both),
        )

    def segments(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Return the questions of each category and difficulty, where there are several."""
        by_way: dict[str, dict[str, set[str]]] = {"Category": {}, "Difficulty": {}}
        for id_ in self.shared.ids:
            question = self.shared.run.questions[id_]
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
        if pair.total is not None or pair.questions is None or self.untested([metric]):
            return []
        rows = zip(pair.questions.tolist(), pair.right.tolist(), pair.left.tolist(), strict=True)
        gaps = [
            Gap(self.shared.ids[number], before, after)
            for number, before, after in rows
            if before != after
        ]
        return sorted(gaps, key=lambda gap: -abs(gap.baseline - gap.run))

    def unpaired(self, metric: str) -> Iterator[Unpaired]:
        """Yield each question with a value on one side alone.

        A question that a metric does not apply to on either side is none.
        """
        shared = self.shared
        before, after = self.left.columns[metric], self.right.columns[metric]
        has_before, has_after = before.known[shared.before], after.known[shared.after]
        for number in np.flatnonzero(has_before != has_after).tolist():
            if has_before[number]:
                missing, side, cell = "run", shared.run, self.right
                state = int(after.states[shared.after[number]])
            else:
                missing, side, cell = "baseline", shared.baseline, self.left
                state = int(before.states[shared.before[number]])
            id_, message = shared.ids[number], "it was not asked"
            if state != UNKNOWN:
                reason = side.reason(cell.name, id_, metric)
                message = ": ".join(filter(None, (STATES[state].replace("_", " "), reason)))
            yield Unpaired(id_, metric, missing, message)

    def untested(self, metrics: Sequence[str]) -> dict[str, str]:
        """Return why a metric is not compared between these two cells; nothing of the others."""
        about = self.shared.run.provenance.metrics
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


def mean_values(pair: PairedScores) -> tuple[float | None, float | None]:
    """Return the baseline's and the run's value on the questions that both have."""
    if not len(pair.left):
        return None, None
    if pair.total is None:
        return float(pair.right.mean()), float(pair.left.mean())
    before, after = (pair.total(counts.sum(axis=0).tolist()) for counts in (pair.right, pair.left))
    return before, after


def pair_cells(shared: SharedQuestions, requested: Sequence[str] = ()) -> list[CellPair]:
    """Return the pairs of cells that are held against each other.

    Those that are `requested`, each as "A=B", A of the baseline and B of the run; else those of one
    name; else the only one on each side. Within one run: each cell against its baseline cell.

    Raises:
        HarnessError: a pair that is wanted names no cell, or more than one.
        Incomparable: nothing says which cells belong together.
    """
    names = _pair_names(shared.baseline, shared.run, requested)
    return [CellPair(shared, pairing) for pairing in names]


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
