"""Scores and sums up the answers of the oracle, kept in `oracle.jsonl`, in and after a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from harness.config.settings import AnswerTest
from harness.errors import DataError, Problem
from harness.metrics import metrics as registry
from harness.metrics import named_metrics
from harness.metrics.named_metrics import NamedMetric, total_of
from harness.metrics.needs import Need
from harness.records import AnswerSample, Case, Label, Question, Span, not_scored
from harness.runs import scoring
from harness.runs.outcomes import answer_of
from harness.runs.scoring import ScoreCache
from harness.stats.aggregate_scores import aggregate
from harness.store.reader import ORACLE, StoredRun
from harness.store.record_format import RecordFormat
from harness.store.run_file import ChunkerCeiling, OracleOutcome, OracleResult, RunFile

_FORMAT = RecordFormat(OracleOutcome)
_NOT_ASKED = "nothing was asked: the question has no passages"
DECLINE_METRICS = frozenset({"decline_precision", "decline_recall"})
"""Judge over unanswerable questions too, which have no evidence to be asked from."""
_RETRIEVAL_NEEDS: frozenset[Need] = frozenset({"ranking", "context"})


def to_jsonl(records: Iterable[OracleOutcome]) -> str:
    """Return records as `oracle.jsonl` holds them."""
    return "".join(map(_FORMAT.line, records))


def read_records(stored: StoredRun) -> list[OracleOutcome]:
    """Return the oracle's records of a stored run; none where it was not asked.

    Raises:
        DataError: the file is damaged, or about questions that the run has not.
    """
    if not stored.run.oracle:
        return []
    records = list(stored.lines(ORACLE, _FORMAT))
    for number, record in enumerate(records, start=1):
        if record.question not in stored.questions:
            message = f"the run has no question {record.question!r}"
            problem = Problem(f"{ORACLE}, line {number}", message, "run it again")
            raise DataError(str(stored.folder), [problem])
    return records


def select_answer_metrics(
    metrics: Sequence[NamedMetric], labels: Label, level: int
) -> list[NamedMetric]:
    """Return the metrics that look at an answer, and at no ranking and no context.

    `labels` and `level` are the run's. What combines others follows its parts.
    """

    def needs(named: NamedMetric) -> list[frozenset[Need]]:
        return [leaf.needs for leaf in named_metrics.leaf_metrics(named.metric, labels, level)]

    return [
        named
        for named in metrics
        if all("answer" in part and not part & _RETRIEVAL_NEEDS for part in needs(named))
    ]


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
) -> Iterator[tuple[OracleResult, Sequence[OracleOutcome]]]:
    """Yield what each generator came to with each of the two, and its records.

    `metrics` are as of `score_records`; what the answers took is left out.
    """
    by_name = {named.name: named.metric for named in metrics}
    parts: dict[tuple[str, str], list[OracleOutcome]] = {}
    for record in records:
        parts.setdefault((record.generator, record.given), []).append(record)
    for part in parts.values():
        first = part[0]
        groups = None if clusters is None else [clusters[record.question] for record in part]
        tested = [record.answered for record in part if record.answered is not None]
        names = [
            name
            for name in first.scores
            if first.given == "nothing" or by_name[name].name not in DECLINE_METRICS
        ]
        line = OracleResult(
            generator=first.generator,
            given=first.given,
            asked=sum(record.context is not None for record in part),
            answered=sum(record.answer is not None for record in part),
            declined=sum(bool(record.declined) for record in part),
            failed=sum(record.error is not None for record in part),
            right=sum(tested) if tested else None,
            tested=len(tested),
            scores={
                name: aggregate(
                    [record.scores[name] for record in part], total_of(by_name[name]), groups
                )
                for name in names
            },
        )
        yield line, part


def summarise_again(
    stored: StoredRun, records: Sequence[OracleOutcome], metrics: Sequence[NamedMetric]
) -> tuple[OracleResult, ...]:
    """Return what records that were scored again come to; what the answers took stays."""
    spent = {(line.generator, line.given): line.spent for line in stored.run.oracle}
    return tuple(
        replace(line, spent=spent.get((line.generator, line.given)))
        for line, _ in summarise(records, metrics, stored.clusters)
    )


def chunker_ceiling(
    chunker: str,
    k: int,
    touching: Sequence[tuple[Question, Sequence[Span] | None]],
    clusters: Mapping[str, str] | None,
) -> ChunkerCeiling:
    """Return the highest recall that a chunker allows at `k` chunks, whatever is retrieved.

    `touching` are the chunks at the gold of each question (`Case.touching`); with a `parent` those
    that are given.
    """
    groups = None if clusters is None else [clusters[question.id] for question, _ in touching]
    cases = [
        Case(question, touching=None if near is None else tuple(near))
        for question, near in touching
    ]
    ceilings: list[Any] = [registry.build(f"evidence_ceiling@{k}"), registry.build("chunk_ceiling")]
    of_recall, of_chunks = (
        aggregate([metric.score(case) for case in cases], clusters=groups) for metric in ceilings
    )
    return ChunkerCeiling(chunker=chunker, k=k, evidence_recall=of_recall, chunk_ceiling=of_chunks)


def recompute_ceilings(stored: StoredRun) -> Iterator[ChunkerCeiling]:
    """Yield what each chunker allows, from the first cell that has it."""
    for line in stored.run.ceilings:
        first = next(cell.name for cell in stored.run.cells if cell.chunker == line.chunker)
        touching = [
            (
                stored.questions[record.question],
                None if record.touching is None else [Span(*key) for key in record.touching],
            )
            for record in stored.records_of([first])
        ]
        yield chunker_ceiling(line.chunker, line.k, touching, stored.clusters)
