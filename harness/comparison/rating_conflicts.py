"""Compares people's ratings of two cells with the metrics, and says where they disagree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.comparison.operand import Operand
from harness.comparison.paired_values import Pairing, SharedQuestions
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
    shared: SharedQuestions,
    pairings: Sequence[Pairing],
    differences: Sequence[Mapping[str, DifferenceEstimate]],
) -> list[Rating | None]:
    """Return what people said of each pair of cells; None where no question was rated in both.

    `differences` are those that were tested between the cells of each pair, by metric.

    Raises:
        DataError: the ratings of a run are damaged.
    """
    before, after = _read_grades(shared.baseline), _read_grades(shared.run)
    ratings: list[Rating | None] = []
    for names, metrics in zip(pairings, differences, strict=True):
        old, new = before.get(names.baseline, {}), after.get(names.run, {})
        both = [number for number, id_ in enumerate(shared.ids) if id_ in old and id_ in new]
        left, right = (
            np.array([side[shared.ids[number]] for number in both]) / TOP_GRADE
            for side in (new, old)
        )
        clusters = None if shared.clusters is None else shared.clusters[both]
        pair = PairedScores(left, right, clusters=clusters)
        ratings.append(_compare(pair, metrics, shared.run.provenance.seed) if both else None)
    return ratings


def _compare(pair: PairedScores, metrics: Mapping[str, DifferenceEstimate], seed: int) -> Rating:
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
        if (mean := answer.mean("overall")) is not None:
            for cell in answer.cells:
                by_cell.setdefault(cell, {})[answer.question] = mean
    return by_cell


def _join_names(names: Sequence[str]) -> str:
    shown, more = list(names[:_MAX_NAMED]), len(names) - _MAX_NAMED
    shown += [f"{more} more"] if more > 0 else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
