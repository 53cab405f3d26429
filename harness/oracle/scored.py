"""The oracle's records to scores, and to what `run.json` says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from pydantic import TypeAdapter, ValidationError

from harness import scoring
from harness.answertest import AnswerTest
from harness.errors import DataError, Problem
from harness.lines import score, score_line
from harness.records import Answer, Case, Failure, Label, Question, Score, not_scored
from harness.scoring import Keeper, Named, total_of
from harness.statistics.aggregate import aggregate
from harness.stored import AggregateLine, OracleLine, OracleRecordLine, RunFile

_NOT_ASKED = "nothing was asked: the question has no passages"
DECLINES = frozenset({"decline_precision", "decline_recall"})
"""Judge over unanswerable questions too, which have no evidence to be asked from."""
_READ = frozenset({"ranking", "context"})


def of_answers(metrics: Sequence[Named], labels: Label, level: int) -> list[Named]:
    """Return the metrics that look at an answer, and at no ranking and no context.

    `labels` and `level` are the run's. What combines others follows its parts.
    """
    return [each for each in metrics if _of_answers(each, labels, level)]


def _of_answers(named: Named, labels: Label, level: int) -> bool:
    needs = [leaf.needs for leaf in scoring.leaves(named.metric, labels, level)]
    return all("answer" in each and not each & _READ for each in needs)


def case(record: OracleRecordLine, question: Question) -> Case:
    """Return the case that a record of the oracle is; nothing was retrieved in it."""
    answer, usage, error = record.answer, record.usage, record.error
    return Case(
        question,
        context=record.context,
        answer=None
        if answer is None
        else Answer(
            answer,
            bool(record.declined),
            None if usage is None else usage.tokens_in,
            None if usage is None else usage.tokens_out,
        ),
        failure=None if error is None else Failure(error.stage, error.reason),
    )


def scored(
    records: Sequence[OracleRecordLine],
    questions: Mapping[str, Question],
    metrics: Sequence[Named],
    labels: Label,
    level: int,
    test: AnswerTest,
    keeper: Keeper | None = None,
) -> list[OracleRecordLine]:
    """Return records with their scores, and with what the answer test says of them.

    `metrics` are all of the run; those that need no ranking and no context are asked.
    """
    named = of_answers(metrics, labels, level)
    cases = [case(each, questions[each.question]) for each in records]
    asked = [some for some in cases if some.context is not None]
    found = iter(scoring.score_all(named, asked, labels, level, keeper))
    none = {each.name: not_scored(_NOT_ASKED) for each in named}
    return [
        record.model_copy(
            update={
                "answered": None if some.context is None else right(test, some),
                "scores": _lines(none if some.context is None else next(found)),
            }
        )
        for record, some in zip(records, cases, strict=True)
    ]


def right(test: AnswerTest, case: Case) -> bool | None:
    """Return whether a question was answered right; None where nothing says what right is.

    A question that failed or was declined was not; one that is unanswerable has no right answer.
    """
    question = case.question
    told = question.answers or (test.keywords and question.keywords)
    return test.passed(case) if question.answerable and told else None


def tested_by(run: RunFile) -> AnswerTest:
    """Return the answer test of a stored run.

    Raises:
        DataError: it is damaged.
    """
    given = run.config["resolved"].get("answer_test") or {}
    try:
        return TypeAdapter(AnswerTest).validate_python(given)
    except ValidationError as error:
        what = str(error.errors()[0]["msg"])
        problem = Problem("config.resolved.answer_test", what, "run it again")
        raise DataError("run.json", [problem]) from None


def summed(
    records: Sequence[OracleRecordLine],
    metrics: Sequence[Named],
    seed: int,
    clusters: Mapping[str, str] | None = None,
) -> list[OracleLine]:
    """Return what each generator came to with each of the two; `metrics` as of `scored`."""
    known = {each.name: each for each in metrics}
    parts: dict[tuple[str, str], list[OracleRecordLine]] = {}
    for record in records:
        parts.setdefault((record.generator, record.given), []).append(record)
    return [_line(some, known, seed, clusters) for some in parts.values()]


def _line(
    records: Sequence[OracleRecordLine],
    metrics: Mapping[str, Named],
    seed: int,
    clusters: Mapping[str, str] | None,
) -> OracleLine:
    groups = None if clusters is None else [clusters[each.question] for each in records]
    tested = [each.answered for each in records if each.answered is not None]
    return OracleLine(
        generator=records[0].generator,
        given=records[0].given,
        asked=sum(each.context is not None for each in records),
        answered=sum(each.answer is not None for each in records),
        declined=sum(bool(each.declined) for each in records),
        failed=sum(each.error is not None for each in records),
        right=sum(tested) if tested else None,
        tested=len(tested),
        scores={
            name: AggregateLine(
                **asdict(
                    aggregate(
                        [score(each.scores[name]) for each in records],
                        seed,
                        total_of(metrics[name].metric),
                        clusters=groups,
                    )
                )
            )
            for name in records[0].scores
            if records[0].given == "nothing" or metrics[name].metric.name not in DECLINES
        },
    )


def _lines(scores: Mapping[str, Score]) -> dict[str, object]:
    return {name: score_line(each) for name, each in scores.items()}
