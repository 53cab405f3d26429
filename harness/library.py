"""The library: score any question-answering system on test cases given as dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pydantic import ValidationError

from harness import numbers, scoring
from harness.answer_labels import is_yes_or_no
from harness.errors import DataError, Problem, suggest
from harness.evaluation import Evaluation, gathered
from harness.foreign import RagSystem, ask, repeated
from harness.jsonl import Row
from harness.metrics import metrics as registry
from harness.records import Case, Label, Question
from harness.registry import parse
from harness.scoring import Named, label_of, leaves
from harness.testset import Testset
from harness.testset.jsonl import QuestionRow, problems_of, question_of

DEFAULT_METRICS = ("hit_rate", "precision", "recall", "mrr", "ndcg", "token_f1", "abstention")


def evaluate(
    rag_system: RagSystem,
    cases: Iterable[Mapping[str, Any]],
    metrics: Sequence[str] = DEFAULT_METRICS,
    k: Sequence[int] = (1, 3, 5),
    labels: Label | None = None,
    seed: int = 7,
) -> Evaluation:
    """Ask a system every question and score what it retrieves and says.

    Args:
        rag_system: called with a question; returns (documents, answer). A document is a text, a
            mapping with `id` and `text`, or an object with `page_content` (LangChain's). A plain
            text serves as its own id. An answer of None says that none is given: metrics of
            answers are then not scored. An empty text is an answer, one that declines.
        cases: dictionaries with `question` and any of `id`, `documents` (ids, or ids with
            grades), `answer` or `answers`, `keywords`, `category`, `answerable`.
        metrics: names; one that takes a cut-off and gives none is computed at every `k`.
        k: the cut-offs.
        labels: what makes a document relevant; by default the first of documents, answer and
            keywords that every answerable case has.
        seed: of the bootstrap behind the intervals.

    An exception in `rag_system` fails its question: recorded with its message, counted as 0 in
    `mean` and left out of `mean_finished`. What is returned a second time is left out, and counted
    in the notes.

    Raises:
        DataError: a case is not usable; all of them are named.
        SpecError: a metric is unknown.
        HarnessError: the system returned something else than documents and an answer.
    """
    questions = _questions(cases)
    chosen = labels or next(iter(Testset(questions, "").labels()), None)
    if chosen is None or chosen == "evidence":
        hint = "give every case `documents`, `answer` or `keywords`, or name labels=..."
        raise DataError("cases", [Problem("labels", "nothing says what is relevant", hint)])
    named = [
        scoring.build(spec, chosen)
        for name in metrics
        for spec in (_at_each(name, k) if _takes_k(name) else [name])
    ]
    _check_answers(named, questions, chosen)
    named = scoring.fitted(named, questions, seed)
    asked = [ask(rag_system, question) for question in questions]
    rows = scoring.score_all(named, asked, chosen)
    scores = {case.question.id: row for case, row in zip(asked, rows, strict=True)}
    means = gathered(named, scores, seed)
    return Evaluation(means, scores, chosen, notes=_notes(asked, chosen))


def _takes_k(name: str) -> bool:
    """Return whether a metric has a cut-off and none was given."""
    base, given = parse(name)
    takes = {field.name for field in fields(registry[base]) if field.init}  # type: ignore[arg-type]
    return "k" in takes and not {"k", "budget"} & set(given)


def _at_each(name: str, k: Sequence[int]) -> list[str]:
    return [f"{name}@{cut}" for cut in k]


def _check_answers(named: Sequence[Named], questions: Iterable[Question], chosen: Label) -> None:
    """Raise `DataError` for answers judged by that say nothing of relevance: yes and no."""
    if all(label_of(leaf) != "answer" for each in named for leaf in leaves(each.metric, chosen)):
        return
    hint = "judge by documents or keywords: give every case one of them, or name labels=..."
    problems = [
        Problem(
            f"question {question.id!r}", f"the answer {answer!r} cannot say what is relevant", hint
        )
        for question in questions
        if question.answerable
        for answer in question.answers
        if is_yes_or_no(answer)
    ]
    if problems:
        raise DataError("cases", problems)


def _notes(asked: Iterable[Case], chosen: Label) -> tuple[str, ...]:
    again = [count for case in asked if (count := repeated(case, chosen))]
    if not again:
        return ()
    said = f"{numbers.count(sum(again), 'document')} returned a second time"
    return (f"{said}, in {numbers.count(len(again), 'question')}: left out",)


def _questions(cases: Iterable[Mapping[str, Any]]) -> tuple[Question, ...]:
    questions: dict[str, Question] = {}
    problems: list[Problem] = []
    for number, data in enumerate(cases, start=1):
        row = Row(number, dict(data))
        try:
            checked = QuestionRow.model_validate(row.data)
        except ValidationError as error:
            found = problems_of(row, error)
            problems += [Problem(f"case {number}", each.what, each.hint) for each in found]
            continue
        id_ = checked.id if checked.id is not None else str(number)
        if checked.evidence:
            hint = "use documents, answer or keywords; `run` judges by evidence, in a corpus"
            problems.append(Problem(f"case {number}", "evidence needs a corpus", hint))
        elif id_ in questions:
            problems.append(Problem(f"case {number}", f"the id {id_!r} is taken", "make it unique"))
        else:
            questions[id_] = question_of(id_, checked, ())
    if not questions and not problems:
        problems.append(Problem("cases", "there is none", suggest("", ["question", "answer"])))
    if problems:
        raise DataError("cases", problems)
    return tuple(questions.values())
