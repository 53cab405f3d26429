"""Questions that give their answer away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness import spans
from harness.answer_labels import is_yes_or_no
from harness.findings import EXAMPLES, Finding, Look, Part, checks
from harness.records import Question
from harness.relevance import folded, occurs

_SHORTEST = 4
"""Visible characters from which an answer in a question's text is no chance."""
_MANY = 0.05
"""The share of questions from which it is a warning."""
_CHOICE = r"(?:\b{0},? or\b|\bor (?:(?:an?|the|in|on|at|by|of) )*{0}\b)"
"""An answer that is offered beside another."""


@checks.register
@dataclass(frozen=True)
class Leaks:
    """Questions whose own text holds a gold answer, or every keyword that answers are judged by."""

    name: ClassVar[str] = "leaks"
    order: ClassVar[int] = 90
    reads: ClassVar[tuple[Part, ...] | None] = ("questions", "settings")

    def dear(self, look: Look) -> bool:
        """Return False: only the questions are read."""
        return False

    def found(self, look: Look) -> Iterator[Finding]:
        """Yield what leaks by answers, then by keywords."""
        asked = [each for each in look.questions if each.answerable]
        texts = {each.id: folded(each.text) for each in asked}
        answered = [each for each in asked if each.answers]
        held = [each.id for each in answered if _told(each, texts[each.id])]
        if held:
            share = len(held) / len(answered)
            yield Finding(
                self.name,
                "warning" if share > _MANY else "note",
                f"{len(held):,} of {len(answered):,} questions with an answer "
                f"({100 * share:.1f} %) may give it away: it stands in their own text",
                "reword those that do: nothing need be retrieved to say it",
                tuple(held)[:EXAMPLES],
            )
        if not look.prepared.config.settings.answer_test.keywords:
            return
        judged = [each for each in asked if each.keywords]
        echoed = [
            each.id
            for each in judged
            if all(occurs(keyword, texts[each.id]) for keyword in each.keywords)
        ]
        if echoed:
            share = len(echoed) / len(judged)
            yield Finding(
                self.name,
                "warning" if share > _MANY else "note",
                f"{len(echoed):,} of {len(judged):,} questions with keywords "
                f"({100 * share:.1f} %) with all of them in their own text: an answer "
                "that repeats the question counts as right",
                "name keywords that only the answer has, or set answer_test: {keywords: false}",
                tuple(echoed)[:EXAMPLES],
            )


def _told(question: Question, text: str) -> bool:
    return any(
        spans.visible(answer) >= _SHORTEST
        and not is_yes_or_no(answer)
        and occurs(answer, text)
        and not _offered(answer, text)
        for answer in question.answers
    )


def _offered(answer: str, text: str) -> bool:
    """Return whether a folded text offers an answer as one of two."""
    return re.search(_CHOICE.format(re.escape(folded(answer))), text) is not None
