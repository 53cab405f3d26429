"""Bounds and scenarios for scores of rankings with unjudged documents.

As scored, a document that nobody judged is irrelevant. Precision, hit rate and MRR only rise when
it turns out to be relevant, so that their exact bounds are known. The other metrics divide by all
relevant documents there are, which rises too: of them there are two scenarios and no bounds.

All cells are judged by one set of labels, so that one guess must hold for all: the documents that
a scenario takes for relevant are those that any cell has in its top k, and they join the inventory
of every cell.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import fmean
from typing import Literal, Protocol, cast, runtime_checkable

from harness.metrics import Metric
from harness.metrics.named_metrics import stored_metric
from harness.records import Judged, Score
from harness.store.cell_results import CellResult
from harness.store.reader import StoredRun

_BOUNDED = ("precision", "hit_rate", "mrr")
_IGNORES_UNJUDGED = "bpref"
"""It leaves out what nobody judged: it is made for incomplete labels."""
EQUAL_WITHIN = 1e-9
"""Means that differ by less are equal: they are sums of the same fractions in another order."""


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


def score_supposing(metric: Metric, listed: JudgedList, relevant: Collection[str]) -> float:
    """Return a metric's value if these unjudged documents were relevant, at the lowest grade.

    With none it is the value as scored. With all of the top k that nobody judged it is, of a
    metric whose form is `bounds`, the highest value that any judgement could give.

    Raises:
        ValueError: the metric does not score this ranking.
    """
    # `analysis_kind` has looked that it is one; looking takes as long as scoring.
    judging, lowest = cast(RankingGrades, metric), getattr(metric, "rel", None) or 1
    value = judging.judge(listed.supposing(relevant, lowest)).value
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


@dataclass(frozen=True)
class Ends:
    """A mean over n questions: with all that nobody judged irrelevant, and with all relevant."""

    irrelevant: float
    relevant: float
    n: int


@dataclass(frozen=True)
class Lead:
    """By how much the best cell's mean lies above another's: as scored, at least, at most.

    `least` and `most` are over every way to judge, the same one for both cells.
    """

    other: CellResult
    scored: float
    least: float
    most: float

    @property
    def standing(self) -> str:
        """How the best stands to the other, in words."""
        if self.least < -EQUAL_WITHIN and self.most > EQUAL_WITHIN:
            return "open"
        if max(abs(self.least), abs(self.most)) <= EQUAL_WITHIN:
            return "equal under every judgement"
        if self.least >= -EQUAL_WITHIN:
            return f"ahead{'' if self.least > EQUAL_WITHIN else ' or equal'} under every judgement"
        return f"behind{'' if self.most < -EQUAL_WITHIN else ' or equal'} under every judgement"


class UnjudgedResults:
    """What the metrics of judged documents could be in each cell of a run."""

    def __init__(
        self, stored: StoredRun, cells: Sequence[CellResult], best: CellResult | None
    ) -> None:
        """Take the cells in the order of their means, and the one with the highest, no floor."""
        self._stored, self._cells, self._best = stored, cells, best
        self._by = stored.run.decide_by
        about = stored.run.provenance.metrics
        names = sorted(about, key=lambda name: name != self._by)
        built = {x: stored_metric(about[x]) for x in names if about[x].labels == "documents"}
        self.metrics: Mapping[str, Metric] = {
            name: metric for name, metric in built.items() if analysis_kind(metric)
        }
        self._documents_by_depth: dict[int | None, dict[str, set[str]]] = {}

    @cached_property
    def open(self) -> list[str]:
        """The metrics that read something nobody judged, in any cell."""
        return [
            name
            for name, metric in self.metrics.items()
            if any(self._unjudged_documents(metric).values())
        ]

    def of_form(self, form: str) -> list[str]:
        """Return those of the open metrics that have bounds, or scenarios."""
        return [name for name in self.open if analysis_kind(self.metrics[name]) == form]

    @cached_property
    def relevant_only(self) -> bool:
        """Whether no label says that a document is irrelevant: then judged is what is relevant."""
        judgements = [line.documents or {} for line in self._stored.questions.values()]
        return all(grade > 0 for grades in judgements for grade in grades.values())

    @property
    def depths(self) -> list[int]:
        """Every k of the open metrics, ascending; of those without @k, how many are retrieved."""
        retrieved = int(self._stored.run.config["resolved"]["retrieve"])
        depths = {cutoff(self.metrics[name]) or retrieved for name in self.open}
        return sorted(depths)

    def judged(self, cell: CellResult, k: int) -> float | None:
        """Return the mean judged@k of a cell, over questions that found something; None if none."""
        tops = [ranking.judged.grades[:k] for ranking in self._rankings[cell.name].values()]
        shares = [sum(grade is not None for grade in top) / len(top) for top in tops if top]
        return fmean(shares) if shares else None

    def ends(self, cell: CellResult, name: str) -> Ends | None:
        """Return a metric's mean in a cell at both ends; None where nothing is scored there.

        Of a metric with bounds each question's own are taken, which no judgement can exceed.
        """
        metric = self.metrics[name]
        world, depth = self._unjudged_documents(metric), cutoff(metric)
        bounded = analysis_kind(metric) == "bounds"
        low = high = 0.0
        n = 0
        for id_, value, ranking in self._scored_questions(cell, name):
            n += 1
            if value is None or ranking is None:
                continue  # it failed, and counts 0 however documents are judged
            relevant: Collection[str] = world.get(id_, ())
            if bounded and relevant:
                relevant = ranking.unjudged(depth)
            low += value
            high += score_supposing(metric, ranking, relevant) if relevant else value
        return Ends(low / n, high / n, n) if n else None

    @cached_property
    def leads(self) -> list[Lead]:
        """How far the best cell lies above each other one by the deciding metric, if it has bounds.

        Empty where it has none, or reads nothing that nobody judged.
        """
        name, best = self._by, self._best
        if best is None or name not in self.of_form("bounds"):
            return []
        metric, none, leads = self.metrics[name], WeightedQuestion(), []
        weighed = {cell.name: self._weigh_questions(cell, name) for cell in self._cells}
        ours = weighed[best.name]
        for cell in self._cells:
            theirs = weighed[cell.name]
            if cell is best or not theirs or not ours:
                continue
            pairs = [(ours.get(id_, none), theirs.get(id_, none)) for id_ in {**ours, **theirs}]
            scored = (best.scores[name].mean or 0) - (cell.scores[name].mean or 0)
            least = -sum(max_difference(metric, b, a) for a, b in pairs)
            most = sum(max_difference(metric, a, b) for a, b in pairs)
            leads.append(Lead(cell, scored, least, most))
        return leads

    @cached_property
    def contenders(self) -> list[CellResult]:
        """The cells that could be ahead of the best by the deciding metric, floors left out.

        By a metric with bounds, under any judgement; by another, in the second scenario.
        """
        by, best = self._by, self._best
        if best is None or by not in self.open:
            return []
        others = [cell for cell in self._cells if cell is not best and not cell.floor]
        if by in self.of_form("bounds"):
            ahead = {lead.other.name for lead in self.leads if lead.least < -EQUAL_WITHIN}
            return [cell for cell in others if cell.name in ahead]
        top = self.ends(best, by)
        return [
            cell
            for cell in others
            if top and (ends := self.ends(cell, by)) and ends.relevant > top.relevant + EQUAL_WITHIN
        ]

    def _weigh_questions(self, cell: CellResult, name: str) -> dict[str, WeightedQuestion]:
        rankings = {id_: ranking for id_, _, ranking in self._scored_questions(cell, name)}
        metric, share = self.metrics[name], 1 / max(1, len(rankings))
        return {
            id_: WeightedQuestion() if ranking is None else weigh_question(metric, ranking, share)
            for id_, ranking in rankings.items()
        }

    def _scored_questions(
        self, cell: CellResult, name: str
    ) -> Iterator[tuple[str, float | None, JudgedList | None]]:
        """Yield each question that a mean is over, its value and ranking; None where it failed."""
        rankings, frame = self._rankings[cell.name], self._stored.frame
        places, ids = self._stored.places(cell.name), list(self._stored.questions)
        scores = frame.scores(name, places)
        for number, score in zip(frame.question[places].tolist(), scores, strict=True):
            id_ = ids[number]
            if score.state == "scored":
                yield id_, score.value, rankings.get(id_)
            elif score.state == "failed":
                yield id_, None, None

    def _unjudged_documents(self, metric: Metric) -> Mapping[str, set[str]]:
        """Return the documents of each question that nobody judged in the top k of any cell."""
        depth = cutoff(metric)
        if depth not in self._documents_by_depth:
            documents: dict[str, set[str]] = {}
            for rankings in self._rankings.values():
                for id_, ranking in rankings.items():
                    documents.setdefault(id_, set()).update(ranking.unjudged(depth))
            self._documents_by_depth[depth] = documents
        return self._documents_by_depth[depth]

    @cached_property
    def _rankings(self) -> dict[str, dict[str, JudgedList]]:
        """The ranking of each question that has a documents label, by cell."""
        rankings: dict[str, dict[str, JudgedList]] = {cell.name: {} for cell in self._cells}
        for cell in self._cells if self.metrics else ():
            for trace in self._stored.frame.at(self._stored.places(cell.name)).traces:
                if (judged := trace.judged.get("documents")) is not None:
                    documents = tuple(dict.fromkeys([doc for doc, _, _ in trace.hits]))
                    rankings[cell.name][trace.question] = JudgedList(documents, judged)
        return rankings
