"""Scores of rankings that others made, against judgements of documents."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter

from harness import numbers, scoring
from harness.errors import DataError, Problem
from harness.evaluation import Evaluation, gathered
from harness.imported_metrics import built
from harness.metrics import Combined, Judging, Metric
from harness.needs import Need
from harness.records import Judged, Score
from harness.scoring import Named

RUN_METRICS = ("ndcg@10", "ap", "mrr", "recall@100", "precision@10", "judged@10")

_BY_SCORE_THEN_ID = itemgetter(1, 0)
_MISSING = Score(None, "missing from the run", "failed")
_RANKING: frozenset[Need] = frozenset({"ranking", "documents"})


def evaluate_run(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    metrics: Sequence[str] = RUN_METRICS,
    relevance_level: int = 1,
    seed: int = 7,
    intervals: bool = True,
) -> Evaluation:
    """Score rankings that some other system made, as trec_eval does.

    Args:
        qrels: question to document to grade.
        run: question to document to score. Documents are ranked by score, compared in double
            precision, then by id, both descending.
        metrics: names of metrics that judge a ranking of documents.
        relevance_level: the least grade that counts as relevant (trec_eval's `-l`).
        seed: of the bootstrap behind the intervals.
        intervals: whether means are given one.

    A judged question that is missing from the run is failed: it counts 0 in `mean`, as with
    trec_eval's `-c`, is left out of `mean_finished`, and is listed. A question without judgements
    is left out, and counted in the notes.

    Raises:
        SpecError: a metric is unknown, or needs more than a ranking.
        DataError: a score is not a finite number.
    """
    named = built(metrics, _RANKING, "a ranking and judgements", "documents", relevance_level)
    judges = _judges(named, relevance_level)
    scores: dict[str, Mapping[str, Score]] = {}
    for id_, grades in qrels.items():
        ranking = run.get(id_)
        if ranking is None:
            scores[id_] = dict.fromkeys([each.name for each in named], _MISSING)
        else:
            judged = _judged(id_, grades, ranking)
            scores[id_] = {name: judge(judged) for name, judge in judges.items()}
    unjudged = len(run.keys() - qrels.keys())
    of_them = numbers.count(unjudged, "question")
    notes = (f"{of_them} of the run without judgements: left out",) if unjudged else ()
    return Evaluation(
        means=gathered(named, scores, seed, intervals),
        scores=scores,
        judged_by="documents",
        missing=tuple(id_ for id_ in qrels if id_ not in run),
        notes=notes,
    )


def _judges(named: Sequence[Named], level: int) -> dict[str, Callable[[Judged], Score]]:
    """Return what gives each metric's score of a judged ranking."""
    return {each.name: _judge(each.metric, level) for each in named}


def _judge(metric: Metric, level: int) -> Callable[[Judged], Score]:
    if isinstance(metric, Combined):
        parts = {
            part: _judge(scoring.build(part, "documents", level).metric, level)
            for part in metric.parts
        }
        combine = metric.combine
        return lambda judged: combine({part: judge(judged) for part, judge in parts.items()})
    assert isinstance(metric, Judging), f"{metric.name} needs more than a ranking"
    return metric.judge


def _judged(id_: str, grades: Mapping[str, int], scores: Mapping[str, float]) -> Judged:
    if not _is_finite(scores.values()):
        _check_finite(id_, scores)
    ascending = sorted(scores.values())
    positive = sorted([grade for grade in grades.values() if grade > 0], reverse=True)
    irrelevant = list(grades.values()).count(0)
    return Judged(_ranked(grades, scores, ascending), tuple(positive), irrelevant)


def _ranked(
    grades: Mapping[str, int], scores: Mapping[str, float], ascending: Sequence[float]
) -> tuple[int | None, ...]:
    """Return the grade of each document, best score first; None where nobody judged it.

    Few documents are judged: only their places are looked up, among the scores in `ascending`
    order. Ties are few: only one that a judged document is part of is worth a slower sort.
    """
    last = len(ascending) - 1
    ranked: list[int | None] = [None] * len(ascending)
    for document, grade in grades.items():
        score = scores.get(document)
        if score is not None:
            at = bisect_left(ascending, score)
            if at < last and ascending[at + 1] == score:
                pairs = sorted(scores.items(), key=_BY_SCORE_THEN_ID, reverse=True)
                return tuple([grades.get(each) for each, _ in pairs])
            ranked[last - at] = grade
    return tuple(ranked)


def _is_finite(scores: Iterable[float]) -> bool:
    """Return whether the sum is a finite number; False says only that one may not be."""
    try:
        return math.isfinite(sum(scores))
    except (TypeError, OverflowError):
        return False


def _check_finite(id_: str, scores: Mapping[str, float]) -> None:
    """Raise `DataError` for a score that is no finite number; their sum may still be too large."""
    for document, score in scores.items():
        if not _is_finite([score]):
            shown = score if isinstance(score, float) else repr(score)
            what = f"document {document!r} has the score {shown}"
            raise DataError("run", [Problem(f"question {id_!r}", what, "give a finite number")])
