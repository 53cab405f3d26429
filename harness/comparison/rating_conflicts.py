"""Compares people's ratings of two cells with the metrics, and says where they disagree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.comparison.operand import Operand
from harness.comparison.paired_values import Pairing
from harness.people.ratings import TOP_GRADE, rated_answers, read
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.estimate import Estimate
from harness.stats.intervals import MIN_SAMPLE_SIZE
from harness.stats.paired_units import PairedScores
from harness.text import numbers

_MAX_NAMED = 5


@dataclass(frozen=True)
class Rating:
    """How much higher people's mean overall grade of the run's cell is, from -3 to 3.

    It is over the questions that were rated on both sides. `rose` says whether it is shown to be
    higher, `fell` whether lower. `alone` are metrics that rose where people's grades did not,
    `unseen` those not shown to have risen where people's grades did.
    """

    difference: Estimate
    rose: bool
    fell: bool
    alone: tuple[str, ...]
    unseen: tuple[str, ...]

    @property
    def said(self) -> str:
        """What there is to say in a sentence; "" where people and metrics agree."""
        difference = self.difference
        ends = (
            numbers.between(difference.low, difference.high)
            if difference.low is not None
            else difference.reason
        )
        evidence = (
            f"mean overall grade, 0 to {TOP_GRADE}: "
            f"difference {numbers.difference(difference.value)}, {ends}, n = {difference.n:,}"
        )
        if self.alone:
            people = "fell" if self.fell else "are not shown to have"
            return f"{_join_names(self.alone)} rose; people’s ratings {people} ({evidence})."
        if self.unseen:
            unseen = _join_names(self.unseen)
            return f"People’s ratings rose ({evidence}); not shown to rise: {unseen}."
        return ""


def compare_ratings(
    baseline: Operand,
    run: Operand,
    pairings: Sequence[Pairing],
    shared: Collection[str],
    differences: Sequence[Mapping[str, DifferenceEstimate]],
) -> list[Rating | None]:
    """Return what people said of each pair of cells; None where no question was rated in both.

    `shared` are the questions that are the same on both sides, `differences` those that were tested
    between each pair, by metric.

    Raises:
        DataError: the ratings of a run are damaged.
    """
    before, after = _read_grades(baseline), _read_grades(run)
    clusters = {
        id_: question.cluster
        for side in (baseline, run)
        for id_, question in side.questions.items()
        if question.cluster
    }
    ratings = []
    for names, metrics in zip(pairings, differences, strict=True):
        left, right = before.get(names.baseline, {}), after.get(names.run, {})
        both = sorted(left.keys() & right.keys() & set(shared))
        old, new = (np.array([side[id_] for id_ in both]) / TOP_GRADE for side in (left, right))
        groups = None
        if clusters:
            groups = np.unique([clusters.get(id_, id_) for id_ in both], return_inverse=True)[1]
        pair = PairedScores(new, old, clusters=groups)
        ratings.append(_compare_cells(pair, metrics, run.provenance.seed) if both else None)
    return ratings


def _compare_cells(
    pair: PairedScores, metrics: Mapping[str, DifferenceEstimate], seed: int
) -> Rating:
    (found,) = estimate_differences([pair], seed)
    value, low, high = (
        None if part is None else TOP_GRADE * part
        for part in (found.difference, found.low, found.high)
    )
    up = tuple(name for name, estimate in metrics.items() if estimate.better)
    still = tuple(name for name, estimate in metrics.items() if not estimate.better)
    return Rating(
        Estimate(value, low, high, found.n, found.reason),
        rose=found.better,
        fell=found.worse,
        alone=up if found.n >= MIN_SAMPLE_SIZE and not found.better else (),
        unseen=still if found.better else (),
    )


def _read_grades(side: Operand) -> Mapping[str, Mapping[str, float]]:
    """Return people's mean overall grade, 0 to 3, by cell and question; none of a baseline's."""
    by_cell: dict[str, dict[str, float]] = {}
    for answer in () if side.stored is None else rated_answers(read(side.stored)):
        mean = answer.mean("overall")
        for cell in answer.cells if mean is not None else ():
            by_cell.setdefault(cell, {})[answer.question] = mean or 0.0
    return by_cell


def _join_names(names: Sequence[str]) -> str:
    shown, more = list(names[:_MAX_NAMED]), len(names) - _MAX_NAMED
    shown += [f"{more} more"] if more > 0 else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
