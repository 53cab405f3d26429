"""Drafts made so far, and the reasons why others were dropped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from harness.records import Chunk, Question

Reason = Literal[
    "silent", "unread", "refers", "leaks", "quote", "alone", "twin", "unsupported", "known", "there"
]
REASONS: dict[Reason, str] = {
    "silent": "the model gave no usable reply",
    "unread": "the reply could not be read, twice",
    "refers": "the question speaks of a passage or a text",
    "leaks": "the question gives its answer away",
    "quote": "the evidence is not in the passages",
    "alone": "the evidence is of one document, where several were asked for",
    "twin": "the question is nearly the same as another",
    "unsupported": "the evidence does not support the answer",
    "known": "the model knows the answer without the evidence",
    "there": "the corpus answers it, and it was to be unanswerable",
}


@dataclass(frozen=True)
class QuestionDraft:
    """A question that no person has accepted, and the passages it was drafted from."""

    question: Question
    passages: tuple[Chunk, ...]


@dataclass
class Drafts:
    """What has come of drafting so far: drafts by the number of the question, and the dropped."""

    target: int
    by_number: dict[int, QuestionDraft] = field(default_factory=dict)
    tried: int = 0
    dropped: Counter[Reason] = field(default_factory=Counter)

    def in_order(self) -> list[QuestionDraft]:
        """Return the drafts by number."""
        return [self.by_number[number] for number in sorted(self.by_number)]
