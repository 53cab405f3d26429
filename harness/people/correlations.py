"""Rank correlation of each metric with human ratings, over the answers that people rated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harness.errors import SpecError
from harness.metrics import Metric, metrics, parts_of
from harness.metrics.named_metrics import leaf_metrics
from harness.people.ratings import Aspect, Rated
from harness.records import Label
from harness.stats.estimate import Estimate
from harness.stats.rank_correlation import spearman_by_column
from harness.store.reader import StoredRun

Floats = NDArray[np.float64]
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

    def metric(self, name: str) -> Floats:
        """Return a metric's value of each answer, a mean over the cells that gave it, or NaN."""
        values = []
        for answer in self.answers:
            records = [self._records.get((cell, answer.question)) for cell in answer.cells]
            scores = [record.scores[name].value for record in records if record is not None]
            known = [value for value in scores if value is not None]
            values.append(fmean(known) if known else np.nan)
        return np.array(values, dtype=np.float64)

    def people(self, aspect: Aspect) -> Floats:
        """Return the mean grade that people gave each answer, or NaN."""
        return np.array([answer.mean(aspect) for answer in self.answers], dtype=np.float64)


def _build_metrics(stored: StoredRun) -> Iterator[tuple[str, Metric]]:
    """Yield the run's metrics of single questions that can still be built."""
    for name, line in stored.run.provenance.metrics.items():
        # Others are of a newer or an older harness, or of a file of the user's.
        with suppress(SpecError):
            if line.kind != "whole set":
                yield name, metrics.build(line.spec)


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
    return sorted(
        results, key=lambda line: (line.overall.value is None, -(line.overall.value or 0.0))
    )


def metric_target(metric: Metric, labels: Label) -> MetricTarget:
    """Return what a metric looks at."""
    if parts_of(metric):
        return "composite"
    needs = {need for leaf in leaf_metrics(metric, labels) for need in leaf.needs}
    return "answer" if needs & {"answer", "context"} else "retrieval"


def _correlate(
    table: RatedValues, values: Mapping[str, Floats], aspect: Aspect
) -> dict[str, Estimate]:
    """Return each metric's rho with people; those that are known of the same rows share draws."""
    grades = table.people(aspect)
    by_rows: dict[tuple[int, ...], list[str]] = {}
    for name, column in values.items():
        known = np.flatnonzero(~np.isnan(grades) & ~np.isnan(column))
        by_rows.setdefault(tuple(known.tolist()), []).append(name)
    rhos: dict[str, Estimate] = {}
    seed, labels = table.stored.run.provenance.seed, ("the metric", "what people said")
    for rows, names in by_rows.items():
        columns = [values[name][list(rows)].tolist() for name in names]
        people = grades[list(rows)].tolist()
        groups = [table.groups[row] for row in rows]
        rhos |= zip(names, spearman_by_column(columns, people, groups, seed, labels), strict=True)
    return rhos
