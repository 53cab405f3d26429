"""Weights of a composite that would agree best with people: a suggestion, cross-validated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.errors import SpecError
from harness.metrics import Metric, metrics
from harness.people.correlations import RatedValues, metric_target
from harness.records import Label
from harness.stats import nonnegative
from harness.stats.estimate import Estimate
from harness.stats.rank_correlation import spearman, spearman_gain

Floats = NDArray[np.float64]

MIN_RATED_ANSWERS = 30
"""Rated answers from which on weights are suggested."""
FOLDS = 5
_MIN_COVERAGE = 0.8
EQUAL_WEIGHTS = "the same weight for each"


@dataclass(frozen=True)
class Suggestion:
    """Weights by the spec of each metric, in hundredths that sum to 1; none where `reason` says so.

    `own` is the rank correlation of answers with people whose question the weights had not seen,
    `present` that of the composite called `against`, `gain` the difference. `n` counts answers.
    """

    n: int
    weights: Mapping[str, float]
    against: str
    own: Estimate | None = None
    present: Estimate | None = None
    gain: Estimate | None = None
    reason: str = ""

    @property
    def better(self) -> bool:
        """Whether the weights are shown to agree better with people than the present ones."""
        return self.gain is not None and self.gain.positive

    @property
    def yaml(self) -> str:
        """What to write among the metrics of a configuration."""
        parts = " + ".join(f"{weight:g}*{spec}" for spec, weight in self.weights.items())
        return f'metrics:\n  - composite: {{weights: "{parts}"}}'


def suggest_weights(table: RatedValues) -> Suggestion:
    """Return the weights that would agree best with what people said overall.

    Over the quality metrics of answers that have a value of four in five rated answers, and over
    the answers that all of them have a value of; answers to unanswerable questions do not count:
    most metrics have no value of them. They are fitted by least squares, none below 0; how well
    they do is estimated by five folds of questions, each predicted by weights that were fitted
    to the others.
    """
    grades, questions = table.people("overall"), table.stored.questions
    answerable = np.array([questions[answer.question].answerable for answer in table.answers])
    rated = answerable & ~np.isnan(grades)
    text = f"people rated {int(rated.sum())} answers to answerable questions overall"
    columns = _weightable_metrics(table)
    seed = table.stored.run.provenance.seed
    return fit_suggestion(columns, grades, rated, table.groups, seed, text, _run_composite(table))


def fit_suggestion(
    columns: Mapping[str, Floats],
    grades: Floats,
    rated: NDArray[np.bool_],
    groups: Sequence[str],
    seed: int,
    text: str,
    present: tuple[str, Floats] | None,
) -> Suggestion:
    """Return the weights of columns that follow people's grades best.

    Args:
        columns: A value a row, NaN where there is none, by the spec of each metric.
        grades: What people said of each row.
        rated: Which rows count.
        groups: The question of each row; a fold holds all rows of a question, or none.
        seed: Of the folds and draws.
        text: How many rows people graded, for messages.
        present: The name and values of what the weights are held against; None, or where it has
            not all values: equal weights.
    """
    n_rated = int(rated.sum())
    if n_rated < MIN_RATED_ANSWERS:
        return _no_suggestion(n_rated, f"{text}, under {MIN_RATED_ANSWERS}")
    candidates = {
        spec: column
        for spec, column in columns.items()
        if np.count_nonzero(~np.isnan(column[rated])) >= _MIN_COVERAGE * n_rated
    }
    if len(candidates) < 2:
        reason = "fewer than two quality metrics of answers have a value of four in five of them"
        return _no_suggestion(n_rated, f"{text}, and {reason}")
    rows = rated & ~np.isnan(list(candidates.values())).any(axis=0)
    n = int(rows.sum())
    if n < MIN_RATED_ANSWERS:
        reason = f"the metrics to be weighted all have a value of only {n} of them"
        return _no_suggestion(n, f"{text}, and {reason}, under {MIN_RATED_ANSWERS}")
    parts = {
        spec: column[rows]
        for spec, column in candidates.items()
        if len(np.unique(column[rows])) > 1
    }
    if len(parts) < 2:
        reason = "fewer than two quality metrics of answers tell answers apart"
        return _no_suggestion(n, f"{text}, and {reason}")
    human = grades[rows]
    row_groups = [groups[row] for row in np.flatnonzero(rows).tolist()]
    table = np.array(list(parts.values())).T
    fitted = nonnegative.fit_weights(table, human)
    if fitted is None:
        return _no_suggestion(n, "no metric of answers rises with what people said")
    predicted = _cross_validated_predictions(table, human, row_groups, seed)
    against, values = EQUAL_WEIGHTS, table.mean(axis=1)
    if present is not None and not np.isnan(present[1][rows]).any():
        against, values = present[0], present[1][rows]
    people = human.tolist()
    return Suggestion(
        n,
        {s: w for s, w in zip(parts, _round_to_hundredths(fitted), strict=True) if w},
        against,
        spearman(predicted, people, row_groups, seed),
        spearman(values.tolist(), people, row_groups, seed),
        spearman_gain(predicted, values.tolist(), people, row_groups, seed),
    )


def _no_suggestion(n: int, reason: str) -> Suggestion:
    return Suggestion(n, {}, "", reason=reason)


def is_weightable(metric: Metric, spec: str, labels: Label) -> bool:
    """Return whether a composite may have a metric as its part: a quality of answers."""
    if metric.kind != "quality" or metric_target(metric, labels) != "answer":
        return False
    with suppress(SpecError):
        metrics.build({"composite": {"weights": f"1.0*{spec}"}})
        return True
    return False


def _weightable_metrics(table: RatedValues) -> dict[str, Floats]:
    """Return the values of each metric of answers that a composite may have, by its spec."""
    provenance = table.stored.run.provenance
    return {
        line.spec: table.metric(name)
        for name, metric in table.built.items()
        if (line := provenance.metrics[name]).kind == "quality"
        and is_weightable(metric, line.spec, provenance.labels)
    }


def _run_composite(table: RatedValues) -> tuple[str, Floats] | None:
    """Return the first composite of the run and its values."""
    labels = table.stored.run.provenance.labels
    for name, metric in table.built.items():
        if metric_target(metric, labels) == "composite":
            return name, table.metric(name)
    return None


def _cross_validated_predictions(
    columns: Floats, people: Floats, groups: Sequence[str], seed: int
) -> list[float]:
    """Return each answer's weighted sum by weights that saw no answer to its question.

    Where such weights are not to be had, all are equal.
    """
    names = list(dict.fromkeys(groups))
    order = np.random.default_rng([seed, len(names)]).permutation(len(names))
    fold_of = {names[which]: position % FOLDS for position, which in enumerate(order)}
    folds = np.array([fold_of[name] for name in groups])
    predictions = np.zeros(len(people))
    for fold in range(FOLDS):
        held_out = folds == fold
        if not held_out.any():
            continue
        fitted = None
        if not held_out.all():
            fitted = nonnegative.fit_weights(columns[~held_out], people[~held_out])
        # To leave out the folds that say nothing would make the rest look too good.
        predictions[held_out] = (
            columns[held_out].mean(axis=1) if fitted is None else columns[held_out] @ fitted
        )
    values: list[float] = predictions.tolist()
    return values


def _round_to_hundredths(weights: Floats) -> list[float]:
    """Return the weights in hundredths that sum to 1: what is cut off goes to the largest rests."""
    whole = np.floor(weights * 100 + 1e-9)
    rest = weights * 100 - whole
    for index in np.argsort(-rest, kind="stable")[: round(100 - whole.sum())]:
        whole[index] += 1
    return [int(hundredth) / 100 for hundredth in whole]
