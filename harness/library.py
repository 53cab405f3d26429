"""The library: score any question-answering system on test cases given as dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from harness import scoring
from harness.context import SEPARATOR
from harness.declines import is_decline
from harness.errors import DataError, HarnessError, Problem, suggest
from harness.evaluation import Evaluation, gathered
from harness.jsonl import Row
from harness.metrics import metrics as registry
from harness.records import (
    Answer,
    Case,
    Chunk,
    Failure,
    Hit,
    Judged,
    Label,
    Question,
    Span,
)
from harness.registry import parse
from harness.relevance import folded, judge_documents, occurs
from harness.testset import Testset
from harness.testset.jsonl import QuestionRow, problems_of, question_of

if TYPE_CHECKING:
    pass

RagSystem = Callable[[str], tuple[Sequence[Any], str | None]]
"""Takes a question; returns the documents it retrieved, best first, and its answer."""

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
            text serves as its own id.
        cases: dictionaries with `question` and any of `id`, `documents` (ids, or ids with
            grades), `answer` or `answers`, `keywords`, `category`, `answerable`.
        metrics: names; one that takes a cut-off and gives none is computed at every `k`.
        k: the cut-offs.
        labels: what makes a document relevant; by default the first of documents, answer and
            keywords that every answerable case has.
        seed: of the bootstrap behind the intervals.

    An exception in `rag_system` fails its question: recorded with its message, counted as 0 in
    `mean` and left out of `mean_finished`.

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
    named = scoring.fitted(named, questions, seed)
    asked = [_ask(rag_system, question) for question in questions]
    rows = scoring.score_all(named, asked, chosen)
    scores = {case.question.id: row for case, row in zip(asked, rows, strict=True)}
    return Evaluation(gathered(named, scores, seed), scores, chosen)


def _takes_k(name: str) -> bool:
    """Return whether a metric has a cut-off and none was given."""
    base, given = parse(name)
    takes = {field.name for field in fields(registry[base])}  # type: ignore[arg-type]
    return "k" in takes and not {"k", "budget"} & set(given)


def _at_each(name: str, k: Sequence[int]) -> list[str]:
    return [f"{name}@{cut}" for cut in k]


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


def _ask(rag_system: RagSystem, question: Question) -> Case:
    try:
        returned = rag_system(question.text)
    except Exception as error:  # noqa: BLE001  it is the system under test: any failure is its own
        reason = f"{type(error).__name__}: {error}"
        return Case(question, failure=Failure("retrieval", reason))
    try:
        documents, answer = returned
        hits = [_hit(rank, document) for rank, document in enumerate(documents)]
    except (TypeError, ValueError) as error:
        raise HarnessError(
            f"question {question.id!r}: the system must return (documents, answer): {error}\n"
            "  a document is a text, a mapping with `id` and `text`, or has `page_content`"
        ) from None
    text = answer or ""
    return Case(
        question,
        tuple(hits),
        _judged(question, hits),
        context=SEPARATOR.join(hit.chunk.text for hit in hits),
        answer=Answer(text, declined=is_decline(text)),
    )


def _hit(rank: int, document: Any) -> Hit:
    if isinstance(document, str):
        id_, text = document, document
    elif isinstance(document, Mapping):
        text = str(document.get("text") or document.get("page_content") or "")
        id_ = str(document.get("id") or text)
    elif hasattr(document, "page_content"):
        text = str(document.page_content)
        about = getattr(document, "metadata", None) or {}
        id_ = str(getattr(document, "id", None) or about.get("id") or about.get("source") or text)
    else:
        raise TypeError(f"{type(document).__name__} is not a document")
    return Hit(Chunk(rank, Span(id_, 0, len(text)), text), score=-float(rank))


def _judged(question: Question, hits: Sequence[Hit]) -> dict[Label, Judged]:
    """Judge by every label there is; without a corpus the inventory of texts is not known."""
    judged: dict[Label, Judged] = {}
    if question.documents is not None:
        judged["documents"] = judge_documents(question.documents, hits)
    strings: dict[Label, tuple[str, ...]] = {
        "answer": question.answers,
        "keywords": question.keywords,
    }
    once = {hit.chunk.text: hit for hit in reversed(hits)}
    texts = [folded(hit.chunk.text) for hit in hits if once[hit.chunk.text] is hit]
    for kind, wanted in strings.items():
        if wanted:
            grades = [int(any(occurs(each, text) for each in wanted)) for text in texts]
            judged[kind] = Judged(tuple(grades), None)
    return judged
