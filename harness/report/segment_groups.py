"""Divides the questions of a run into segments: category, difficulty, document, length."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    ids: dict[str, dict[str, set[str]]] = {
        way: {} for way in ("Category", "Difficulty", "Document", "Question length")
    }
    for question in questions:
        for way, names in zip(ids, _segments_of(question), strict=True):
            for name in names:
                ids[way].setdefault(name, set()).add(question.id)
    by_size = sorted(ids["Document"].items(), key=lambda group: (-len(group[1]), group[0]))
    ids["Document"] = dict(by_size[:_MAX_DOCUMENTS])
    left_out = {"Document": max(0, len(by_size) - _MAX_DOCUMENTS)}
    return [
        Division(
            way, {name: frozenset(group) for name, group in groups.items()}, left_out.get(way, 0)
        )
        for way, groups in ids.items()
        if len(groups) > 1
    ]


def _segments_of(question: Question) -> tuple[Iterable[str], ...]:
    """Return the names of a question's segments, for each way to divide."""
    documents = {passage.span.doc for passage in question.passages}
    if not documents:
        documents = {doc for doc, grade in (question.documents or {}).items() if grade > 0}
    words, length = len(question.text.split()), f"over {_LONG_WORDS} words"
    if words <= _LONG_WORDS:
        length = f"{_SHORT_WORDS + 1} to {_LONG_WORDS} words"
    if words <= _SHORT_WORDS:
        length = f"up to {_SHORT_WORDS} words"
    category, difficulty = question.category, question.difficulty
    return (
        [category] if category else (),
        [difficulty] if difficulty else (),
        sorted(documents),
        [length],
    )
