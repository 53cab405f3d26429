"""Scores and summarises the oracle's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import TypeAdapter, ValidationError

from harness.config.settings import AnswerTest
from harness.errors import DataError, Problem
from harness.metrics import named_metrics
from harness.metrics.named_metrics import NamedMetric, total_of
from harness.records import AnswerSample, Case, Label, Question, not_scored
from harness.runs import scoring
from harness.runs.outcomes import answer_of
from harness.runs.scoring import ScoreCache
from harness.stats.aggregate_scores import aggregate
from harness.store.run_file import OracleOutcome, OracleResult, RunFile

_NOT_ASKED = "nothing was asked: the question has no passages"
DECLINE_METRICS = frozenset({"decline_precision", "decline_recall"})
"""Judge over unanswerable questions too, which have no evidence to be asked from."""
_RETRIEVAL_NEEDS = frozenset({"ranking", "context"})


def select_answer_metrics(
    metrics: Sequence[NamedMetric], labels: Label, level: int
) -> list[NamedMetric]:
    """Return the metrics that look at an answer, and at no ranking and no context.

    `labels` and `level` are the run's. What combines others follows its parts.
    """
    return [named for named in metrics if _needs_only_answers(named, labels, level)]


def _needs_only_answers(named: NamedMetric, labels: Label, level: int) -> bool:
    needs = [leaf.needs for leaf in named_metrics.leaf_metrics(named.metric, labels, level)]
    return all("answer" in need and not need & _RETRIEVAL_NEEDS for need in needs)


def to_case(record: OracleOutcome, question: Question) -> Case:
    """Return the case that a record of the oracle is; nothing was retrieved in it."""
    answer = answer_of(AnswerSample(record.answer, record.declined, record.usage))
    return Case(question, context=record.context, answer=answer, failure=record.error)


def score_records(
    records: Sequence[OracleOutcome],
    questions: Mapping[str, Question],
    metrics: Sequence[NamedMetric],
    labels: Label,
    level: int,
    test: AnswerTest,
    keeper: ScoreCache | None = None,
) -> list[OracleOutcome]:
    """Return records with their scores, and with what the answer test says of them.

    `metrics` are all of the run; those that need no ranking and no context are asked.
    """
    answer_metrics = select_answer_metrics(metrics, labels, level)
    cases = [to_case(record, questions[record.question]) for record in records]
    answered = [case for case in cases if case.context is not None]
    scores = iter(scoring.score_all(answer_metrics, answered, labels, level, keeper))
    none = {metric.name: not_scored(_NOT_ASKED) for metric in answer_metrics}
    return [
        replace(
            record,
            answered=None if case.context is None else is_right(test, case),
            scores=none if case.context is None else next(scores),
        )
        for record, case in zip(records, cases, strict=True)
    ]


def is_right(test: AnswerTest, case: Case) -> bool | None:
    """Return whether a question was answered right; None where nothing says what right is.

    A question that failed or was declined was not; one that is unanswerable has no right answer.
    """
    question = case.question
    decidable = question.answers or (test.keywords and question.keywords)
    return test.passed(case) if question.answerable and decidable else None


def read_answer_test(run: RunFile) -> AnswerTest:
    """Return the answer test of a stored run.

    Raises:
        DataError: it is damaged.
    """
    spec = run.config["resolved"].get("answer_test") or {}
    try:
        return TypeAdapter(AnswerTest).validate_python(spec)
    except ValidationError as error:
        message = str(error.errors()[0]["msg"])
        problem = Problem("config.resolved.answer_test", message, "run it again")
        raise DataError("run.json", [problem]) from None


def summarise(
    records: Sequence[OracleOutcome],
    metrics: Sequence[NamedMetric],
    clusters: Mapping[str, str] | None = None,
) -> list[OracleResult]:
    """Return what each generator came to with each of the two; `metrics` as of `score_records`."""
    by_name = {named.name: named for named in metrics}
    parts: dict[tuple[str, str], list[OracleOutcome]] = {}
    for record in records:
        parts.setdefault((record.generator, record.given), []).append(record)
    return [_summary_line(part, by_name, clusters) for part in parts.values()]


def _summary_line(
    records: Sequence[OracleOutcome],
    metrics: Mapping[str, NamedMetric],
    clusters: Mapping[str, str] | None,
) -> OracleResult:
    groups = None if clusters is None else [clusters[record.question] for record in records]
    tested = [record.answered for record in records if record.answered is not None]
    return OracleResult(
        generator=records[0].generator,
        given=records[0].given,
        asked=sum(record.context is not None for record in records),
        answered=sum(record.answer is not None for record in records),
        declined=sum(bool(record.declined) for record in records),
        failed=sum(record.error is not None for record in records),
        right=sum(tested) if tested else None,
        tested=len(tested),
        scores={
            name: aggregate(
                [record.scores[name] for record in records],
                total_of(metrics[name].metric),
                groups,
            )
            for name in records[0].scores
            if records[0].given == "nothing" or metrics[name].metric.name not in DECLINE_METRICS
        },
    )
