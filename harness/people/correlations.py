"""Rank correlation of each metric with human ratings, over the answers that people rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from harness.errors import SpecError
from harness.metrics import CombinedMetric, Metric, metrics
from harness.metrics.named_metrics import leaf_metrics
from harness.people.ratings_reader import Aspect, Rated
from harness.records import Label
from harness.stats.estimate import Estimate
from harness.stats.rank_correlation import spearman_by_column
from harness.store.reader import StoredRun

MetricTarget = Literal["answer", "retrieval", "composite"]


@dataclass(frozen=True)
class Correlation:
    """How far one metric orders rated answers as people do: Spearman's rho, and its interval.

    `judged` metrics ask a chat model. `chunks` is None where the metric reads the answer: it is
    not about what was retrieved.
    """

    metric: str
    of: MetricTarget
    judged: bool
    overall: Estimate
    correctness: Estimate
    chunks: Estimate | None


class RatedValues:
    """The values of a run's metrics on the answers that people rated."""

    def __init__(self, stored: StoredRun, answers: Sequence[Rated]) -> None:
        self.stored, self.answers = stored, answers
        questions = {answer.question for answer in answers}
        self._records = {
            (record.cell, record.question): record
            for record in stored.records
            if record.question in questions
        }
        clusters = stored.clusters or {}
        self.groups = [clusters.get(answer.question, answer.question) for answer in answers]
        self.built = dict(_build_metrics(stored))

    def metric(self, name: str) -> list[float | None]:
        """Return a metric's value of each answer, a mean over the cells that gave it."""
        return [self._value(name, answer) for answer in self.answers]

    def people(self, aspect: Aspect) -> list[float | None]:
        """Return the mean grade that people gave each answer."""
        return [answer.mean(aspect) for answer in self.answers]

    def _value(self, name: str, answer: Rated) -> float | None:
        values = [
            value
            for cell in answer.cells
            if (record := self._records.get((cell, answer.question))) is not None
            and (value := record.scores[name].value) is not None
        ]
        return fmean(values) if values else None


def _build_metrics(stored: StoredRun) -> list[tuple[str, Metric]]:
    """Return the run's metrics of single questions that can still be built."""
    built = []
    for name, line in stored.run.provenance.metrics.items():
        if line.kind == "whole set":
            continue
        try:
            built.append((name, metrics.build(line.spec)))
        except SpecError:
            continue  # of a newer or an older harness, or of a file of the user's
    return built


def correlations(table: RatedValues) -> list[Correlation]:
    """Return the correlation of each metric with people, the highest with `overall` first."""
    labels = table.stored.run.provenance.labels
    targets = {name: metric_target(metric, labels) for name, metric in table.built.items()}
    values = {name: table.metric(name) for name in targets}
    retrieval = {name: column for name, column in values.items() if targets[name] == "retrieval"}
    overall, correctness = (
        _correlate(table, values, aspect) for aspect in ("overall", "correctness")
    )
    chunks = _correlate(table, retrieval, "chunks")
    results = [
        Correlation(
            name,
            targets[name],
            any("judge" in leaf.needs for leaf in leaf_metrics(metric, labels)),
            overall[name],
            correctness[name],
            chunks.get(name),
        )
        for name, metric in table.built.items()
    ]
    return sorted(results, key=lambda line: _sort_key(line.overall))


def metric_target(metric: Metric, labels: Label) -> MetricTarget:
    """Return what a metric looks at."""
    if isinstance(metric, CombinedMetric):
        return "composite"
    needs = {need for leaf in leaf_metrics(metric, labels) for need in leaf.needs}
    return "answer" if needs & {"answer", "context"} else "retrieval"


def _sort_key(estimate: Estimate) -> tuple[bool, float]:
    return estimate.value is None, -(estimate.value or 0.0)


def _correlate(
    table: RatedValues, values: Mapping[str, Sequence[float | None]], aspect: Aspect
) -> dict[str, Estimate]:
    """Return each metric's rho with people; those that are known of the same rows share draws."""
    grades = table.people(aspect)
    by_rows: dict[tuple[int, ...], list[str]] = {}
    for name, column in values.items():
        rows = tuple(
            row for row, grade in enumerate(grades) if grade is not None and column[row] is not None
        )
        by_rows.setdefault(rows, []).append(name)
    rhos: dict[str, Estimate] = {}
    for rows, names in by_rows.items():
        columns = [[value for row in rows if (value := values[name][row]) is not None]
                   for name in names]  # fmt: skip
        people = [value for row in rows if (value := grades[row]) is not None]
        groups = [table.groups[row] for row in rows]
        seed = table.stored.run.provenance.seed
        labels = ("the metric", "what people said")
        rhos |= zip(names, spearman_by_column(columns, people, groups, seed, labels), strict=True)
    return rhos
