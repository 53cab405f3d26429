"""Which metrics agree with people: rank correlations over the answers that were rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from harness.errors import SpecError
from harness.metrics import Combined, Metric, metrics
from harness.people.reading import Aspect, Rated
from harness.records import Label
from harness.scoring import leaves
from harness.statistics.estimate import Estimate
from harness.statistics.rankcorrelation import spearman
from harness.store import StoredRun

Of = Literal["answer", "retrieval", "composite"]


@dataclass(frozen=True)
class Correlation:
    """How far one metric orders rated answers as people do: Spearman's rho, and its interval.

    `judged` metrics ask a chat model. `chunks` is None where the metric reads the answer: it is
    not about what was retrieved.
    """

    metric: str
    of: Of
    judged: bool
    overall: Estimate
    correctness: Estimate
    chunks: Estimate | None


class Table:
    """The values of a run's metrics on the answers that people rated."""

    def __init__(self, stored: StoredRun, answers: Sequence[Rated]) -> None:
        self.stored, self.answers = stored, answers
        wanted = {each.question for each in answers}
        self._records = {
            (record.cell, record.question): record
            for record in stored.records
            if record.question in wanted
        }
        known = stored.clusters or {}
        self.groups = [known.get(each.question, each.question) for each in answers]
        self.built = dict(_built(stored))

    def metric(self, name: str) -> list[float | None]:
        """Return a metric's value of each answer, a mean over the cells that gave it."""
        return [self._value(name, each) for each in self.answers]

    def people(self, aspect: Aspect) -> list[float | None]:
        """Return the mean grade that people gave each answer."""
        return [each.mean(aspect) for each in self.answers]

    def _value(self, name: str, answer: Rated) -> float | None:
        found = [
            value
            for cell in answer.cells
            if (record := self._records.get((cell, answer.question))) is not None
            and (value := record.scores[name].value) is not None
        ]
        return fmean(found) if found else None


def _built(stored: StoredRun) -> list[tuple[str, Metric]]:
    """Return the run's metrics of single questions that can still be built."""
    found = []
    for name, line in stored.run.provenance.metrics.items():
        if line.kind == "whole set":
            continue
        try:
            found.append((name, metrics.build(line.spec)))
        except SpecError:
            continue  # of a newer or an older harness, or of a file of the user's
    return found


def correlations(table: Table) -> list[Correlation]:
    """Return the correlation of each metric with people, the highest with `overall` first."""
    about = table.stored.run.provenance
    found = []
    for name, metric in table.built.items():
        of = kind(metric, about.labels)
        found.append(
            Correlation(
                name,
                of,
                any("judge" in leaf.needs for leaf in leaves(metric, about.labels)),
                _rho(table, name, "overall"),
                _rho(table, name, "correctness"),
                _rho(table, name, "chunks") if of == "retrieval" else None,
            )
        )
    return sorted(found, key=lambda each: _first(each.overall))


def kind(metric: Metric, labels: Label) -> Of:
    """Return what a metric looks at."""
    if isinstance(metric, Combined):
        return "composite"
    needs = {need for leaf in leaves(metric, labels) for need in leaf.needs}
    return "answer" if needs & {"answer", "context"} else "retrieval"


def _first(found: Estimate) -> tuple[bool, float]:
    return found.value is None, -(found.value or 0.0)


def _rho(table: Table, name: str, aspect: Aspect) -> Estimate:
    rows = [
        (value, said, group)
        for value, said, group in zip(
            table.metric(name), table.people(aspect), table.groups, strict=True
        )
        if value is not None and said is not None
    ]
    seed = table.stored.run.provenance.seed
    return spearman(
        [value for value, _, _ in rows],
        [said for _, said, _ in rows],
        [group for _, _, group in rows],
        seed,
        ("the metric", "what people said"),
    )
