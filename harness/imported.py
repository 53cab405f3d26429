"""Scores of what others made: rankings against judgements, answers against references."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from harness import jsonl, numbers, scoring
from harness.context import SEPARATOR
from harness.declines import is_decline
from harness.errors import DataError, Problem, SpecError
from harness.evaluation import Evaluation, gathered
from harness.jsonl import Row
from harness.metrics import Combined, Judging, Metric
from harness.needs import Need
from harness.records import Answer, Case, Failure, Judged, Label, Question, Score
from harness.scoring import Named, label_of, leaves

RUN_METRICS = ("ndcg@10", "ap", "mrr", "recall@100", "precision@10", "judged@10")
ANSWER_METRICS = (
    "bleu",
    "corpus_bleu",
    "rouge1",
    "rouge2",
    "rougeL",
    "rougeLsum",
    "exact_match",
    "token_f1",
    "length_ratio",
    "context_overlap",
    "abstention",
    "decline_precision",
    "decline_recall",
    "composite",
)
"""Every metric of answers that needs no model."""

_BY_SCORE_THEN_ID = itemgetter(1, 0)
_MISSING = Score(None, "missing from the run", "failed")
_RANKING: frozenset[Need] = frozenset({"ranking", "documents"})
_ANSWERS: frozenset[Need] = frozenset({"answer", "references", "context"})


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
    named = _built(metrics, _RANKING, "a ranking and judgements", "documents", relevance_level)
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


class AnswerRow(BaseModel):
    """One answer. Other keys are left out, and named in the notes."""

    id: Annotated[str, MinLen(1)] | None = None
    question: str = ""
    answer: str | None = Field(description="null: the system gave none, which is a failure")
    references: list[str] = Field(
        [], validation_alias=AliasChoices("references", "answers", "ground_truths")
    )
    contexts: list[str] | None = None
    answerable: bool = True
    declined: bool | None = None


_KEYS = frozenset(AnswerRow.model_fields) | {"answers", "ground_truths"}


def evaluate_answers(
    rows: Iterable[Mapping[str, Any]] | Path, metrics: Sequence[str] = ANSWER_METRICS, seed: int = 7
) -> Evaluation:
    """Score answers that some other system gave.

    Args:
        rows: mappings with `answer`, and any of `id`, `question`, `references`, `contexts`,
            `answerable` and `declined` (by default what an answer's wording says); or the path
            of a file with one such object a line.
        metrics: names of metrics of answers; those that need no model unless others are named.
        seed: of the bootstrap behind the intervals.

    Raises:
        SpecError: a metric is unknown, or needs a ranking.
        DataError: a row is not usable; all of them are named.
    """
    named = _built(metrics, _ANSWERS, "answers, references and contexts")
    read: list[Row | Problem]
    if isinstance(rows, Path):
        place, read = str(rows), jsonl.read(rows)
    else:
        place, read = "answers", [Row(at, dict(each)) for at, each in enumerate(rows, start=1)]
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    ignored: dict[str, None] = {}
    for found in read:
        if isinstance(found, Problem):
            problems.append(found)
            continue
        try:
            row = AnswerRow.model_validate(found.data)
        except ValidationError as error:
            problems += [
                Problem(found.where, f"{'.'.join(map(str, each['loc']))}: {each['msg']}")
                for each in error.errors()
            ]
            continue
        ignored |= dict.fromkeys(key for key in found.data if key not in _KEYS)
        id_ = row.id or str(found.line)
        if id_ in cases:
            problems.append(Problem(found.where, f"the id {id_!r} is taken", "make each id unique"))
        cases[id_] = _answered(id_, row)
    if not cases and not problems:
        problems.append(Problem("the rows", "there is none"))
    if problems:
        raise DataError(place, problems)
    named = scoring.fitted(named, [case.question for case in cases.values()], seed)
    scored = scoring.score_all(named, list(cases.values()))
    scores = dict(zip(cases, scored, strict=True))
    notes = (f"keys that mean nothing here: {', '.join(ignored)}",) if ignored else ()
    missing = tuple(id_ for id_, case in cases.items() if case.failure is not None)
    return Evaluation(gathered(named, scores, seed), scores, "", missing, notes)


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
    ascending = sorted(scores.values())
    if not math.isfinite(sum(ascending)):
        _check_finite(id_, scores)
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


def _check_finite(id_: str, scores: Mapping[str, float]) -> None:
    """Raise `DataError` for a score that is not finite; a finite sum may still be too large."""
    for document, score in scores.items():
        if not math.isfinite(score):
            what = f"document {document!r} has the score {score}"
            raise DataError("run", [Problem(f"question {id_!r}", what, "give a finite number")])


def _answered(id_: str, row: AnswerRow) -> Case:
    references = tuple(row.references) if row.answerable else ()
    question = Question(id_, row.question, references, answerable=row.answerable)
    context = None if row.contexts is None else SEPARATOR.join(row.contexts)
    if row.answer is None:
        return Case(question, context=context, failure=Failure("generation", "no answer was given"))
    declined = is_decline(row.answer) if row.declined is None else row.declined
    return Case(question, context=context, answer=Answer(row.answer, declined))


def _built(
    metrics: Sequence[str],
    given: frozenset[Need],
    what: str,
    labels: Label | None = None,
    level: int = 1,
) -> list[Named]:
    """Return the metrics; raises `SpecError` with all that are unknown or need what is not there.

    `given` is what there is to score, and `what` says so.
    """
    named: list[Named] = []
    wrong: list[SpecError] = []
    for spec in metrics:
        try:
            each = scoring.build(spec, labels, level)
        except SpecError as error:
            wrong.append(error)
            continue
        parts = leaves(each.metric, labels, level)
        needs: set[str] = {need for part in parts for need in part.needs - given}
        needs |= {kind for part in parts if (kind := label_of(part)) and kind != "documents"}
        if needs:
            said = f"metric {each.name!r} needs {', '.join(sorted(needs))}"
            wrong.append(SpecError(said, f"there is only {what}"))
        named.append(each)
    if len(wrong) > 1:
        raise SpecError("\n".join(map(str, wrong)))
    if wrong:
        raise wrong[0]
    return named
