"""Scores answers of another system against references and contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from harness import limits
from harness.errors import DataError, Problem, first_problems
from harness.files import json_lines
from harness.files.json_lines import JsonLine
from harness.metrics import named_metrics
from harness.metrics.needs import Need
from harness.ranking.context import SEPARATOR
from harness.records import Answer, Case, Failure, Question
from harness.runs import scoring
from harness.runs.evaluation import Evaluation, aggregate_all, build_metrics
from harness.text.decline_patterns import is_decline

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

_ANSWER_NEEDS: frozenset[Need] = frozenset({"answer", "references", "context"})


def _as_text(id_: Any) -> Any:
    """Accept a whole number where an id is expected."""
    return str(id_) if isinstance(id_, int) and not isinstance(id_, bool) else id_


class AnswerRow(BaseModel):
    """One answer. Other keys are left out, and named in the notes."""

    id: Annotated[Annotated[str, MinLen(1)] | None, BeforeValidator(_as_text)] = None
    question: str = ""
    answer: str | None = Field(description="null: the system gave none, which is a failure")
    references: list[str] = Field(
        [], validation_alias=AliasChoices("references", "answers", "ground_truths")
    )
    contexts: list[str] | None = None
    answerable: bool = True
    declined: bool | None = None
    grade: float | None = Field(
        None,
        validation_alias=AliasChoices("grade", "rating", "preferred"),
        allow_inf_nan=False,
        description="a person's: a number, higher is better; or whether the answer was preferred",
    )
    cluster: Annotated[str | None, BeforeValidator(_as_text)] = Field(
        None, description="answers that hang together, such as those to one question"
    )


_KEYS = frozenset(AnswerRow.model_fields) | {"answers", "ground_truths", "rating", "preferred"}


def evaluate_answers(
    rows: Iterable[Mapping[str, Any]] | Path | str,
    metrics: Sequence[str] = ANSWER_METRICS,
    seed: int = 7,
) -> Evaluation:
    """Score answers that some other system gave.

    Args:
        rows: mappings with `answer`, and any of `id`, `question`, `references`, `contexts`,
            `answerable` and `declined` (by default what an answer's wording says); or the path
            of a file with one such object a line. `grade` (or `preferred`) is what a person said
            of the answer, and `cluster` names answers that hang together.
        metrics: names of metrics of answers; those that need no model unless others are named.
        seed: of metrics that draw.

    Raises:
        SpecError: a metric is unknown, or needs a ranking.
        DataError: a row is not usable; all of them are named.
    """
    selected = build_metrics(metrics, _ANSWER_NEEDS, "answers, references and contexts")
    read: list[JsonLine | Problem]
    if isinstance(rows, Path | str):
        place, read = str(rows), json_lines.read(Path(rows))
    else:
        place, read = (
            "answers",
            [JsonLine(number, dict(row)) for number, row in enumerate(rows, start=1)],
        )
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    ignored: dict[str, None] = {}
    grades: dict[str, float] = {}
    clusters: dict[str, str] = {}
    for line in read:
        if len(problems) >= limits.MAX_PROBLEMS:
            break
        if isinstance(line, Problem):
            problems.append(line)
            continue
        try:
            row = AnswerRow.model_validate(line.data)
        except ValidationError as error:
            problems += [
                Problem(line.where, f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}")
                for problem in error.errors()
            ]
            continue
        ignored |= dict.fromkeys(key for key in line.data if key not in _KEYS)
        id_ = row.id or str(line.line)
        if id_ in cases:
            problems.append(Problem(line.where, f"the id {id_!r} is taken", "make each id unique"))
        cases[id_] = _build_case(id_, row)
        if row.grade is not None:
            grades[id_] = row.grade
        if row.cluster is not None:
            clusters[id_] = row.cluster
    if not cases and not problems:
        problems.append(Problem("the rows", "there is none"))
    if problems:
        raise DataError(place, first_problems(problems))
    selected = named_metrics.fit_metrics(selected, [case.question for case in cases.values()], seed)
    scored = scoring.score_all(selected, list(cases.values()))
    scores = dict(zip(cases, scored, strict=True))
    notes = [f"keys that mean nothing here: {', '.join(ignored)}"] if ignored else []
    notes += named_metrics.describe_unread(named_metrics.count_unread(selected, scored))
    missing = tuple(id_ for id_, case in cases.items() if case.failure is not None)
    means = aggregate_all(selected, scores)
    return Evaluation(means, scores, "", missing, tuple(notes), grades, clusters)


def _build_case(id_: str, row: AnswerRow) -> Case:
    references = tuple(row.references) if row.answerable else ()
    question = Question(id_, row.question, references, answerable=row.answerable)
    context = None if row.contexts is None else SEPARATOR.join(row.contexts)
    if row.answer is None:
        return Case(question, context=context, failure=Failure("generation", "no answer was given"))
    declined = is_decline(row.answer) if row.declined is None else row.declined
    return Case(question, context=context, answer=Answer(row.answer, declined))
