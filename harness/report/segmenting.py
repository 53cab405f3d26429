"""Segments: the ways to divide the questions of a run, and which questions each part holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.stored import QuestionLine

FEW = 5
"""Of fewer questions nothing can be said."""
_DOCUMENTS = 12
"""Documents that are shown: those with the most questions."""
_SHORT, _LONG = 10, 20


@dataclass(frozen=True)
class Way:
    """One way to divide the questions: the ids of the questions of each segment, by its name.

    `left_out` counts segments that are not shown. A question may be in several segments.
    """

    name: str
    segments: Mapping[str, frozenset[str]]
    left_out: int = 0


def ways(questions: Iterable[QuestionLine]) -> list[Way]:
    """Return the ways that divide these questions at all: two segments or more."""
    asked = list(questions)
    found = [
        Way("Category", _divided(asked, lambda each: [each.category] if each.category else [])),
        Way(
            "Difficulty", _divided(asked, lambda each: [each.difficulty] if each.difficulty else [])
        ),
        _by_document(asked),
        Way("Question length", _divided(asked, lambda each: [_length(each.text)])),
    ]
    return [way for way in found if len(way.segments) > 1]


def _divided(
    questions: Sequence[QuestionLine], names: Callable[[QuestionLine], Iterable[str]]
) -> dict[str, frozenset[str]]:
    ids: dict[str, set[str]] = {}
    for question in questions:
        for name in names(question):
            ids.setdefault(name, set()).add(question.id)
    return {name: frozenset(some) for name, some in ids.items()}


def _by_document(questions: Sequence[QuestionLine]) -> Way:
    """Divide by the documents that hold the answer, largest segment first."""
    found = _divided(questions, lambda each: sorted(_documents(each)))
    order = sorted(found, key=lambda name: (-len(found[name]), name))
    shown = {name: found[name] for name in order[:_DOCUMENTS]}
    return Way("Document", shown, left_out=max(0, len(order) - _DOCUMENTS))


def _documents(question: QuestionLine) -> set[str]:
    if question.passages:
        return {passage.doc for passage in question.passages}
    return {doc for doc, grade in (question.documents or {}).items() if grade > 0}


def _length(text: str) -> str:
    words = len(text.split())
    if words <= _SHORT:
        return f"up to {_SHORT} words"
    return f"{_SHORT + 1} to {_LONG} words" if words <= _LONG else f"over {_LONG} words"
