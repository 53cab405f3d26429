"""Scores of answers that others gave, against references and contexts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from annotated_types import MinLen
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from harness import jsonl, scoring
from harness.context import SEPARATOR
from harness.declines import is_decline
from harness.errors import ENOUGH, DataError, Problem, shortened
from harness.evaluation import Evaluation, gathered
from harness.imported_metrics import built
from harness.jsonl import Row
from harness.needs import Need
from harness.records import Answer, Case, Failure, Question

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

_ANSWERS: frozenset[Need] = frozenset({"answer", "references", "context"})


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


_KEYS = frozenset(AnswerRow.model_fields) | {"answers", "ground_truths"}


def evaluate_answers(
    rows: Iterable[Mapping[str, Any]] | Path | str,
    metrics: Sequence[str] = ANSWER_METRICS,
    seed: int = 7,
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
    named = built(metrics, _ANSWERS, "answers, references and contexts")
    read: list[Row | Problem]
    if isinstance(rows, Path | str):
        place, read = str(rows), jsonl.read(Path(rows))
    else:
        place, read = "answers", [Row(at, dict(each)) for at, each in enumerate(rows, start=1)]
    cases: dict[str, Case] = {}
    problems: list[Problem] = []
    ignored: dict[str, None] = {}
    for found in read:
        if len(problems) >= ENOUGH:
            break
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
        raise DataError(place, shortened(problems))
    named = scoring.fitted(named, [case.question for case in cases.values()], seed)
    scored = scoring.score_all(named, list(cases.values()))
    scores = dict(zip(cases, scored, strict=True))
    notes = (f"keys that mean nothing here: {', '.join(ignored)}",) if ignored else ()
    missing = tuple(id_ for id_, case in cases.items() if case.failure is not None)
    return Evaluation(gathered(named, scores, seed), scores, "", missing, notes)


def _answered(id_: str, row: AnswerRow) -> Case:
    references = tuple(row.references) if row.answerable else ()
    question = Question(id_, row.question, references, answerable=row.answerable)
    context = None if row.contexts is None else SEPARATOR.join(row.contexts)
    if row.answer is None:
        return Case(question, context=context, failure=Failure("generation", "no answer was given"))
    declined = is_decline(row.answer) if row.declined is None else row.declined
    return Case(question, context=context, answer=Answer(row.answer, declined))
