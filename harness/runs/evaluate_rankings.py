"""Scores rankings of another system against judgements of documents."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

from harness.errors import DataError, Problem
from harness.metrics import named_metrics, parts_of
from harness.metrics.failures import score_safely
from harness.metrics.named_metrics import NamedMetric
from harness.metrics.needs import Need
from harness.records import Case, Judged, Question, Score
from harness.runs.evaluation import Evaluation, aggregate_all, build_metrics
from harness.runs.scoring import combine_scores
from harness.text import numbers

RANKING_METRICS = ("ndcg@10", "ap", "mrr", "recall@100", "precision@10", "judged@10")

_BY_SCORE_THEN_ID = itemgetter(1, 0)
_MISSING_SCORE = Score(None, "missing from the run", "failed")
_RANKING_NEEDS: frozenset[Need] = frozenset({"ranking", "documents"})


def evaluate_run(
    qrels: Mapping[str, Mapping[str, int]],
    run: Mapping[str, Mapping[str, float]],
    metrics: Sequence[str] = RANKING_METRICS,
    relevance_level: int = 1,
) -> Evaluation:
    """Score rankings that some other system made, as trec_eval does.

    Args:
        qrels: question to document to grade.
        run: question to document to score. Documents are ranked by score, compared in double
            precision, then by id, both descending.
        metrics: names of metrics that judge a ranking of documents.
        relevance_level: the least grade that counts as relevant (trec_eval's `-l`).

    A judged question that is missing from the run is failed: it counts 0 in `mean`, as with
    trec_eval's `-c`, is left out of `mean_finished`, and is listed. A question without judgements
    is left out, and counted in the notes.

    Raises:
        SpecError: a metric is unknown, or needs more than a ranking.
        DataError: a score is not a finite number.
    """
    selected = build_metrics(
        metrics, _RANKING_NEEDS, "a ranking and judgements", "documents", relevance_level
    )
    judges = _build_judges(selected, relevance_level)
    scores: dict[str, Mapping[str, Score]] = {}
    for id_, grades in qrels.items():
        ranking = run.get(id_)
        if ranking is None:
            scores[id_] = dict.fromkeys([entry.name for entry in selected], _MISSING_SCORE)
        else:
            judged = _judge_ranking(id_, grades, ranking)
            scores[id_] = {name: judge(judged) for name, judge in judges.items()}
    unjudged = len(run.keys() - qrels.keys())
    of_them = numbers.count(unjudged, "question")
    notes = (f"{of_them} of the run without judgements: left out",) if unjudged else ()
    return Evaluation(
        means=aggregate_all(selected, scores),
        scores=scores,
        judged_by="documents",
        missing=tuple(id_ for id_ in qrels if id_ not in run),
        notes=notes,
    )


def _build_judges(
    metrics: Sequence[NamedMetric], level: int
) -> dict[str, Callable[[Judged], Score]]:
    """Return what gives each metric's score of a judged ranking."""
    return {named.name: _build_judge(named.metric, level) for named in metrics}


def _build_judge(metric: Any, level: int) -> Callable[[Judged], Score]:
    if names := parts_of(metric):
        parts = {
            part: _build_judge(named_metrics.build_metric(part, "documents", level).metric, level)
            for part in names
        }
        case = Case(Question("", ""))
        return lambda judged: combine_scores(
            metric, case, {part: judge(judged) for part, judge in parts.items()}
        )
    return partial(score_safely, metric, metric.judge)


def _judge_ranking(id_: str, grades: Mapping[str, int], scores: Mapping[str, float]) -> Judged:
    if not _is_finite(scores.values()):
        _check_finite(id_, scores)
    ascending = sorted(scores.values())
    positive = sorted([grade for grade in grades.values() if grade > 0], reverse=True)
    irrelevant = list(grades.values()).count(0)
    return Judged(_grades_by_rank(grades, scores, ascending), tuple(positive), irrelevant)


def _grades_by_rank(
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
            index = bisect_left(ascending, score)
            if index < last and ascending[index + 1] == score:
                pairs = sorted(scores.items(), key=_BY_SCORE_THEN_ID, reverse=True)
                return tuple([grades.get(id_) for id_, _ in pairs])
            ranked[last - index] = grade
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
            text = score if isinstance(score, float) else repr(score)
            message = f"document {document!r} has the score {text}"
            raise DataError("run", [Problem(f"question {id_!r}", message, "give a finite number")])
