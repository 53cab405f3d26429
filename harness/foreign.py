"""A system that is not the harness's own, asked a question: what it returned, as a case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from harness.context import SEPARATOR
from harness.declines import is_decline
from harness.errors import HarnessError
from harness.records import Answer, Case, Chunk, Failure, Hit, Judged, Label, Question, Span
from harness.relevance import folded, judge_documents, occurs

RagSystem = Callable[[str], tuple[Iterable[Any], str | None]]
"""Takes a question; returns the documents it retrieved, best first, and its answer."""


def ask(rag_system: RagSystem, question: Question) -> Case:
    """Ask a system one question; an exception in it, or in its documents, is a failure.

    Raises:
        HarnessError: it returned something else than documents and an answer.
    """
    try:
        returned = rag_system(question.text)
    except Exception as error:  # noqa: BLE001  it is the system under test: any failure is its own
        return _failed(question, error)
    try:
        documents, answer = returned
        _check(documents, answer)
    except (TypeError, ValueError) as error:
        raise _misfit(question, error) from None
    try:
        retrieved = list(documents)  # a generator does its work only now
    except Exception as error:  # noqa: BLE001  likewise
        return _failed(question, error)
    try:
        hits = [_hit(rank, document) for rank, document in enumerate(retrieved)]
    except TypeError as error:
        raise _misfit(question, error) from None
    return Case(
        question,
        tuple(hits),
        _judged(question, hits),
        context=SEPARATOR.join(hit.chunk.text for hit in hits),
        answer=None if answer is None else Answer(answer, declined=is_decline(answer)),
        keywords=_by_keyword(question, hits),
    )


def repeated(case: Case, kind: Label) -> int:
    """Return how many hits `kind` of label leaves out, as the same stands above them."""
    hits = case.hits
    by_id = kind == "documents"
    return len(hits) - len({hit.chunk.span.doc if by_id else hit.chunk.text for hit in hits})


def _failed(question: Question, error: Exception) -> Case:
    reason = f"{type(error).__name__}: {error}"
    return Case(question, failure=Failure("retrieval", reason))


def _misfit(question: Question, error: Exception) -> HarnessError:
    return HarnessError(
        f"question {question.id!r}: the system must return (documents, answer): {error}\n"
        "  a document is a text, a mapping with `id` and `text`, or has `page_content`"
    )


def _check(documents: Any, answer: Any) -> None:
    """Raise `TypeError` for what would be read as something else than it is."""
    if isinstance(documents, str | bytes | Mapping):
        raise TypeError(f"the documents are one {type(documents).__name__}, not a list")
    if not isinstance(documents, Iterable):
        raise TypeError(f"the documents are {type(documents).__name__}, not a list")
    if not isinstance(answer, str | None):
        raise TypeError(f"the answer is {type(answer).__name__}, not a text or None")


def _hit(rank: int, document: Any) -> Hit:
    if isinstance(document, str):
        id_, text = document, document
    elif isinstance(document, Mapping):
        text = str(document.get("text") or document.get("page_content") or "")
        id_ = _first(document.get("id"), text)
    elif hasattr(document, "page_content"):
        text = str(document.page_content)
        about = getattr(document, "metadata", None) or {}
        id_ = _first(getattr(document, "id", None), about.get("id"), about.get("source"), text)
    else:
        raise TypeError(f"{type(document).__name__} is not a document")
    return Hit(Chunk(rank, Span(id_, 0, len(text)), text), score=-float(rank))


def _first(*ids: Any) -> str:
    """Return the first that is there; 0 is an id."""
    return str(next(each for each in ids if each is not None))


def _judged(question: Question, hits: Sequence[Hit]) -> dict[Label, Judged]:
    """Judge by every label there is."""
    judged: dict[Label, Judged] = {}
    if question.documents is not None:
        judged["documents"] = judge_documents(question.documents, hits)
    strings: dict[Label, tuple[str, ...]] = {
        "answer": question.answers,
        "keywords": question.keywords,
    }
    texts = _texts(hits)
    for kind, wanted in strings.items():
        if wanted:
            judged[kind] = _with_any(wanted, texts)
    return judged


def _by_keyword(question: Question, hits: Sequence[Hit]) -> tuple[Judged, ...]:
    texts = _texts(hits)
    return tuple(_with_any((keyword,), texts) for keyword in question.keywords)


def _texts(hits: Sequence[Hit]) -> list[str]:
    """Return the folded texts, each once, at its first rank."""
    return [folded(text) for text in dict.fromkeys(hit.chunk.text for hit in hits)]


def _with_any(wanted: Sequence[str], texts: Sequence[str]) -> Judged:
    """Judge by strings; without a corpus the inventory of texts is not known."""
    grades = tuple(int(any(occurs(each, text) for each in wanted)) for text in texts)
    return Judged(grades, None)
