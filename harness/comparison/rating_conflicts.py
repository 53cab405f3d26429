"""Compares people's ratings of two cells with the metrics, and says where they disagree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from harness.comparison.operand import Operand
from harness.comparison.paired_values import Pairing
from harness.people.ratings_reader import TOP_GRADE, rated_answers, read
from harness.stats.difference_estimate import DifferenceEstimate
from harness.stats.differences import estimate_differences
from harness.stats.estimate import Estimate
from harness.stats.intervals import MIN_SAMPLE_SIZE, mean_interval
from harness.stats.paired_units import PairedScores
from harness.text import numbers

Floats = NDArray[np.float64]

_MAX_NAMED = 5


Grades = Mapping[str, Mapping[str, float]]
"""People's mean overall grade, 0 to 3, by cell and question."""


@dataclass(frozen=True)
class Rating:
    """How much higher people's mean overall grade of the run's cell is, from -3 to 3.

    `paired`: over the questions that were rated on both sides; else over all that were rated on
    either. `rose` says whether it is shown to be higher, `fell` whether lower. `alone` are metrics
    that rose where people's grades did not, `unseen` those not shown to have risen where people's
    grades did.
    """

    difference: Estimate
    paired: bool
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
        how = "" if self.paired else ", other questions on the two sides"
        evidence = (
            f"mean overall grade, 0 to {TOP_GRADE}: "
            f"difference {numbers.difference(difference.value)}, {ends}, n = {difference.n:,}{how}"
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
    """Return what people said of each pair of cells; None of those that were not both rated.

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
    seed = run.provenance.seed
    return [
        compare_grades(
            before.get(names.baseline), after.get(names.run), shared, metrics, clusters, seed
        )
        for names, metrics in zip(pairings, differences, strict=True)
    ]


def _read_grades(side: Operand) -> Grades:
    """Return what people said of each cell of a side; nothing of a baseline that is no run."""
    by_cell: dict[str, dict[str, float]] = {}
    for answer in () if side.stored is None else rated_answers(read(side.stored)):
        mean = answer.mean("overall")
        for cell in answer.cells if mean is not None else ():
            by_cell.setdefault(cell, {})[answer.question] = mean or 0.0
    return by_cell


def compare_grades(
    before: Mapping[str, float] | None,
    after: Mapping[str, float] | None,
    shared: Collection[str],
    metrics: Mapping[str, DifferenceEstimate],
    clusters: Mapping[str, str],
    seed: int,
) -> Rating | None:
    """Return what people said of a pair of cells; whole `clusters` of questions are drawn."""
    if not before or not after:
        return None
    both = sorted(before.keys() & after.keys() & set(shared))
    if paired := len(both) >= MIN_SAMPLE_SIZE:
        difference, rose, fell = _paired_difference(before, after, both, clusters, seed)
    else:
        difference = _unpaired_difference(before, after, clusters)
        rose, fell = difference.positive, difference.high is not None and difference.high < 0
    up = tuple(name for name, estimate in metrics.items() if estimate.better)
    still = tuple(name for name, estimate in metrics.items() if not estimate.better)
    alone = up if (paired or difference.low is not None) and not rose else ()
    return Rating(difference, paired, rose, fell, alone, still if rose else ())


def _paired_difference(
    before: Mapping[str, float],
    after: Mapping[str, float],
    both: Sequence[str],
    clusters: Mapping[str, str],
    seed: int,
) -> tuple[Estimate, bool, bool]:
    left, right = (np.array([side[id_] for id_ in both]) / TOP_GRADE for side in (after, before))
    groups = None
    if clusters:
        groups = np.unique([clusters.get(id_, id_) for id_ in both], return_inverse=True)[1]
    estimate = estimate_differences([PairedScores(left, right, clusters=groups)], seed)[0]
    low, high = (None if end is None else TOP_GRADE * end for end in (estimate.low, estimate.high))
    value = None if estimate.difference is None else TOP_GRADE * estimate.difference
    return Estimate(value, low, high, estimate.n, estimate.reason), estimate.better, estimate.worse


def _unpaired_difference(
    before: Mapping[str, float], after: Mapping[str, float], clusters: Mapping[str, str]
) -> Estimate:
    """Return the difference of two means whose questions are not the same.

    Its interval is made of those of the two means. Source: Zou & Donner, "Construction of
    confidence limits about effect measures", 2008.
    """
    value, n = fmean(after.values()) - fmean(before.values()), min(len(before), len(after))
    one, other = (
        mean_interval(
            [grade / TOP_GRADE for grade in side.values()],
            [clusters.get(id_, id_) for id_ in side] if clusters else None,
        )
        for side in (after, before)
    )
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Estimate(value, None, None, n, one.reason or other.reason)
    up, down = (fmean(side.values()) / TOP_GRADE for side in (after, before))
    low = value - TOP_GRADE * hypot(up - one.low, other.high - down)
    high = value + TOP_GRADE * hypot(one.high - up, down - other.low)
    return Estimate(value, low, high, n)


def _join_names(names: Sequence[str]) -> str:
    shown, more = list(names[:_MAX_NAMED]), len(names) - _MAX_NAMED
    shown += [f"{more} more"] if more > 0 else []
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
