"""How far metrics agree with grades that people gave answers of another system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.metrics import metrics
from harness.people.composite_weights import Suggestion, fit_suggestion, is_weightable
from harness.runs.evaluation import Evaluation
from harness.stats.calibration import pearson
from harness.stats.estimate import Estimate
from harness.stats.rank_correlation import spearman

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GradedMetric:
    """One metric's correlation with people's grades of the same answers."""

    metric: str
    pearson: Estimate
    spearman: Estimate


@dataclass(frozen=True)
class AgreementWithGrades:
    """Each metric's agreement with people, the highest first, and weights of a composite.

    The weights are held against the single metric that agrees best.
    """

    metrics: tuple[GradedMetric, ...]
    weights: Suggestion


def correlate_grades(evaluation: Evaluation, seed: int = 7) -> AgreementWithGrades:
    """Return how far each metric agrees with the grades of an evaluation; None are given twice."""
    ids = list(evaluation.grades)
    grades = np.array([evaluation.grades[id_] for id_ in ids], dtype=np.float64)
    groups = [evaluation.clusters.get(id_, id_) for id_ in ids]
    columns = {
        name: np.array(
            [np.nan if (value := evaluation.scores[id_][name].value) is None else value
             for id_ in ids],
            dtype=np.float64,
        )
        for name in evaluation.means
    }  # fmt: skip
    found = [_correlate(name, column, grades, groups, seed) for name, column in columns.items()]
    found = [line for line in found if line.spearman.n]
    found.sort(key=lambda line: -(line.spearman.value if line.spearman.value is not None else -2))
    weightable = {
        name: column
        for name, column in columns.items()
        if is_weightable(metrics.build(name), name, "answer")
    }
    best = next((line.metric for line in found if line.metric in weightable), None)
    weights = fit_suggestion(
        weightable,
        grades,
        np.ones(len(ids), dtype=np.bool_),
        groups,
        seed,
        f"people graded {len(ids)} answers",
        None if best is None else (best, weightable[best]),
    )
    return AgreementWithGrades(tuple(found), weights)


def _correlate(
    name: str, column: Floats, grades: Floats, groups: Sequence[str], seed: int
) -> GradedMetric:
    known = np.flatnonzero(~np.isnan(column))
    values, people = column[known], grades[known]
    inside = [groups[row] for row in known.tolist()]
    labels = ("the metric", "what people said")
    return GradedMetric(
        name,
        pearson(people, values, inside, seed),
        spearman(values.tolist(), people.tolist(), inside, seed, labels),
    )
