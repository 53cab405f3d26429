"""Which metrics agree with people: rank correlations over the answers that were rated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from harness.errors import SpecError
from harness.metrics import Combined, Metric, metrics
from harness.people.reading import Aspect, Rated
from harness.records import Label
from harness.scoring import leaves
from harness.statistics.estimate import Estimate
from harness.statistics.rankcorrelation import spearmans
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
    labels = table.stored.run.provenance.labels
    of = {name: kind(metric, labels) for name, metric in table.built.items()}
    values = {name: table.metric(name) for name in of}
    retrieval = {name: known for name, known in values.items() if of[name] == "retrieval"}
    overall, correctness = (_rhos(table, values, each) for each in ("overall", "correctness"))
    chunks = _rhos(table, retrieval, "chunks")
    found = [
        Correlation(
            name,
            of[name],
            any("judge" in leaf.needs for leaf in leaves(metric, labels)),
            overall[name],
            correctness[name],
            chunks.get(name),
        )
        for name, metric in table.built.items()
    ]
    return sorted(found, key=lambda each: _first(each.overall))


def kind(metric: Metric, labels: Label) -> Of:
    """Return what a metric looks at."""
    if isinstance(metric, Combined):
        return "composite"
    needs = {need for leaf in leaves(metric, labels) for need in leaf.needs}
    return "answer" if needs & {"answer", "context"} else "retrieval"


def _first(found: Estimate) -> tuple[bool, float]:
    return found.value is None, -(found.value or 0.0)


def _rhos(
    table: Table, values: Mapping[str, Sequence[float | None]], aspect: Aspect
) -> dict[str, Estimate]:
    """Return each metric's rho with people; those that are known of the same rows share draws."""
    said = table.people(aspect)
    alike: dict[tuple[int, ...], list[str]] = {}
    for name, known in values.items():
        rows = tuple(
            at for at, each in enumerate(said) if each is not None and known[at] is not None
        )
        alike.setdefault(rows, []).append(name)
    found: dict[str, Estimate] = {}
    for rows, names in alike.items():
        columns = [[value for at in rows if (value := values[name][at]) is not None]
                   for name in names]  # fmt: skip
        people = [value for at in rows if (value := said[at]) is not None]
        groups = [table.groups[at] for at in rows]
        seed = table.stored.run.provenance.seed
        called = ("the metric", "what people said")
        found |= zip(names, spearmans(columns, people, groups, seed, called), strict=True)
    return found
