"""Bounds and scenarios for scores of rankings with unjudged documents.

As scored, a document that nobody judged is irrelevant. Precision, hit rate and MRR only rise when
it turns out to be relevant, so that their exact bounds are known. The other metrics divide by all
relevant documents there are, which rises too: of them there are two scenarios and no bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast, runtime_checkable

from harness.metrics import Metric
from harness.records import Judged, Score

_BOUNDED = ("precision", "hit_rate", "mrr")
_IGNORES_UNJUDGED = "bpref"
"""It leaves out what nobody judged: it is made for incomplete labels."""


@runtime_checkable
class RankingGrades(Protocol):
    """A metric of judged rankings."""

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking."""
        ...


@dataclass(frozen=True, slots=True)
class JudgedList:
    """The documents of one ranking, best first, and what was judged of them."""

    documents: tuple[str, ...]
    judged: Judged

    def unjudged(self, k: int | None) -> tuple[str, ...]:
        """Return those of the top `k` that nobody judged; None is the whole ranking."""
        top = self.judged.grades[:k]
        if None not in top:
            return ()
        pairs = zip(self.documents, top, strict=False)  # only the top is looked at
        return tuple([document for document, grade in pairs if grade is None])

    def supposing(self, relevant: Collection[str], grade: int) -> Judged:
        """Return the ranking judged as if unjudged documents were `relevant`, each with `grade`.

        All of them join the inventory, retrieved here or not.
        """
        pairs = zip(self.documents, self.judged.grades, strict=False)
        grades = [grade if old is None and doc in relevant else old for doc, old in pairs]
        inventory = self.judged.inventory
        if inventory is not None:
            inventory = tuple(sorted([*inventory, *[grade] * len(relevant)], reverse=True))
        return Judged(tuple(grades), inventory, self.judged.irrelevant)


def analysis_kind(metric: Metric) -> Literal["bounds", "scenarios"] | None:
    """Return what can be said of a metric where labels are incomplete; None for other metrics."""
    of_documents = getattr(metric, "labels", None) == "documents"
    if not of_documents or metric.kind != "quality" or not isinstance(metric, RankingGrades):
        return None
    if metric.name == _IGNORES_UNJUDGED:
        return None
    return "bounds" if metric.name in _BOUNDED else "scenarios"


def cutoff(metric: Metric) -> int | None:
    """Return how many documents of a ranking a metric reads; None for all."""
    k: int | None = getattr(metric, "k", None)
    return k


def lowest_relevant_grade(metric: Metric) -> int:
    """Return the lowest grade that a metric takes for relevant."""
    return getattr(metric, "rel", None) or 1


def score_supposing(metric: Metric, listed: JudgedList, relevant: Collection[str]) -> float:
    """Return a metric's value if these unjudged documents were relevant, at the lowest grade.

    With none it is the value as scored. With all of the top k that nobody judged it is, of a
    metric whose form is `bounds`, the highest value that any judgement could give.

    Raises:
        ValueError: the metric does not score this ranking.
    """
    judging = cast(
        RankingGrades, metric
    )  # `analysis_kind` has looked, and looking takes as long as scoring
    value = judging.judge(listed.supposing(relevant, lowest_relevant_grade(metric))).value
    if value is None:
        raise ValueError(f"{metric.name} does not score this ranking")
    return value


@dataclass(frozen=True, slots=True)
class WeightedQuestion:
    """What one question adds to a mean: as scored, and with each unjudged document alone relevant.

    A question that failed adds 0 however documents are judged.
    """

    value: float = 0.0
    alone: Mapping[str, float] = field(default_factory=dict)


def weigh_question(metric: Metric, listed: JudgedList, weight: float) -> WeightedQuestion:
    """Return what a ranking adds to the mean of a bounded metric, of which it is `weight`."""
    documents = listed.unjudged(cutoff(metric))
    alone = {
        document: weight * score_supposing(metric, listed, (document,)) for document in documents
    }
    return WeightedQuestion(weight * score_supposing(metric, listed, ()), alone)


def max_difference(metric: Metric, one: WeightedQuestion, other: WeightedQuestion) -> float:
    """Return the most by which `one` could lie above `other` on a question, by a bounded metric.

    Exact: a document has the same grade in both rankings, and the greatest difference is looked
    for over every way to judge them. Documents count one by one for precision; hit rate and MRR
    see the first relevant document only, so that one is the best choice, or none.
    """
    gains = [
        value - one.value - (other.alone.get(document, other.value) - other.value)
        for document, value in one.alone.items()
    ]
    best = (
        sum([gain for gain in gains if gain > 0])
        if metric.name == "precision"
        else max([0.0, *gains])
    )
    return one.value - other.value + best
