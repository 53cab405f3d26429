"""Divides the questions of a run into segments: category, difficulty, document, length."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.records import Question

MIN_QUESTIONS = 5
"""Of fewer questions nothing can be said."""
_MAX_DOCUMENTS = 12
"""Documents that are shown: those with the most questions."""
_SHORT_WORDS, _LONG_WORDS = 10, 20


@dataclass(frozen=True)
class Division:
    """One way to divide the questions: the ids of the questions of each segment, by its name.

    `left_out` counts segments that are not shown. A question may be in several segments.
    """

    name: str
    segments: Mapping[str, frozenset[str]]
    left_out: int = 0


def list_divisions(questions: Iterable[Question]) -> list[Division]:
    """Return the ways that divide these questions at all: two segments or more."""
    question_list = list(questions)
    divisions = [
        Division(
            "Category",
            _group_ids(
                question_list, lambda question: [question.category] if question.category else []
            ),
        ),
        Division(
            "Difficulty",
            _group_ids(
                question_list, lambda question: [question.difficulty] if question.difficulty else []
            ),
        ),
        _by_document(question_list),
        Division(
            "Question length", _group_ids(question_list, lambda question: [_length(question.text)])
        ),
    ]
    return [way for way in divisions if len(way.segments) > 1]


def _group_ids(
    questions: Sequence[Question], names: Callable[[Question], Iterable[str]]
) -> dict[str, frozenset[str]]:
    ids: dict[str, set[str]] = {}
    for question in questions:
        for name in names(question):
            ids.setdefault(name, set()).add(question.id)
    return {name: frozenset(group) for name, group in ids.items()}


def _by_document(questions: Sequence[Question]) -> Division:
    """Divide by the documents that hold the answer, largest segment first."""
    ids_by_document = _group_ids(questions, lambda question: sorted(_documents(question)))
    order = sorted(ids_by_document, key=lambda name: (-len(ids_by_document[name]), name))
    segments = {name: ids_by_document[name] for name in order[:_MAX_DOCUMENTS]}
    return Division("Document", segments, left_out=max(0, len(order) - _MAX_DOCUMENTS))


def _documents(question: Question) -> set[str]:
    if question.passages:
        return {passage.span.doc for passage in question.passages}
    return {doc for doc, grade in (question.documents or {}).items() if grade > 0}


def _length(text: str) -> str:
    words = len(text.split())
    if words <= _SHORT_WORDS:
        return f"up to {_SHORT_WORDS} words"
    return (
        f"{_SHORT_WORDS + 1} to {_LONG_WORDS} words"
        if words <= _LONG_WORDS
        else f"over {_LONG_WORDS} words"
    )
