"""Scores of what others made: rankings against judgements, answers against references."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import AliasChoices, BaseModel, Field, ValidationError

from harness import scoring
from harness.context import SEPARATOR
from harness.declines import is_decline
from harness.errors import DataError, Problem, SpecError
from harness.evaluation import Evaluation, gathered
from harness.metrics import Combined, Judging, Metric
from harness.needs import Need
from harness.records import Answer, Case, Failure, Judged, Question, Score
from harness.scoring import Named, leaves

RUN_METRICS = ("ndcg@10", "ap", "mrr", "recall@100", "precision@10", "judged@10")
ANSWER_METRICS = (
    "bleu",
    "corpus_bleu",
    "rouge1",
    "rouge2",
    "rougeL",
    "exact_match",
    "token_f1",
    "length_ratio",
    "context_overlap",
    "abstention",
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
    named = [scoring.build(spec, "documents", relevance_level) for spec in metrics]
    _refuse(named, _RANKING, "a ranking and judgements")
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
    notes = (f"{unjudged} questions of the run have no judgements: left out",) if unjudged else ()
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
    rows: Iterable[Mapping[str, Any]], metrics: Sequence[str] = ANSWER_METRICS, seed: int = 7
) -> Evaluation:
    """Score answers that some other system gave.

    Args:
        rows: mappings with `answer`, and any of `id`, `question`, `references`, `contexts`,
            `answerable` and `declined` (by default what an answer's wording says).
        metrics: names of metrics of answers; those that need no model unless others are named.
        seed: of the bootstrap behind the intervals.

    Raises:
        SpecError: a metric is unknown, or needs a ranking.
        DataError: a row is not usable; all of them are named.
    """
    named = [scoring.build(spec) for spec in metrics]
    _refuse(named, _ANSWERS, "answers, references and contexts")
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    ignored: dict[str, None] = {}
    for number, data in enumerate(rows, start=1):
        where = f"line {number}"
        try:
            row = AnswerRow.model_validate(data)
        except ValidationError as error:
            problems += [
                Problem(where, f"{'.'.join(map(str, each['loc']))}: {each['msg']}")
                for each in error.errors()
            ]
            continue
        ignored |= dict.fromkeys(key for key in data if key not in _KEYS)
        id_ = row.id or str(number)
        if id_ in cases:
            problems.append(Problem(where, f"the id {id_!r} is taken", "make each id unique"))
        cases[id_] = _answered(id_, row)
    if not cases and not problems:
        problems.append(Problem("the rows", "there is none"))
    if problems:
        raise DataError("answers", problems)
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
    if not math.isfinite(sum(scores.values())):
        _check_finite(id_, scores)
    ranking = sorted(scores, key=scores.__getitem__, reverse=True)
    found = tuple(map(grades.get, ranking))
    # Ties are few. Only one that a judged document is part of is worth a second, slower sort.
    places = [at for at, grade in enumerate(found) if grade is not None]
    if any([_tied(scores, ranking, at) for at in places]):
        pairs = sorted(scores.items(), key=_BY_SCORE_THEN_ID, reverse=True)
        found = tuple([grades.get(document) for document, _ in pairs])
    positive = sorted([grade for grade in grades.values() if grade > 0], reverse=True)
    irrelevant = list(grades.values()).count(0)
    return Judged(found, tuple(positive), irrelevant)


def _tied(scores: Mapping[str, float], ranking: Sequence[str], at: int) -> bool:
    """Return whether the document at one place has the score of a neighbour."""
    score = scores[ranking[at]]
    before = at > 0 and scores[ranking[at - 1]] == score
    return before or (at + 1 < len(ranking) and scores[ranking[at + 1]] == score)


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


def _refuse(named: Sequence[Named], given: frozenset[Need], what: str) -> None:
    """Raise `SpecError` for a metric that needs more than there is."""
    for each in named:
        needs = {need for leaf in leaves(each.metric) for need in leaf.needs} - given
        if needs:
            listed = ", ".join(sorted(needs))
            raise SpecError(f"metric {each.name!r} needs {listed}", f"there is only {what}")
