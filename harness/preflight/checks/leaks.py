"""Finds questions whose own text contains the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from harness.preflight.checks import MAX_EXAMPLES, CheckInput, Finding, Part, checks
from harness.ranking.relevance import fold, is_yes_or_no, occurs
from harness.records import Question
from harness.text import numbers, spans

_MIN_ANSWER_CHARS = 4
"""Visible characters from which an answer in a question's text is no chance."""
_WARNING_SHARE = 0.05
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

    def is_expensive(self, run: CheckInput) -> bool:
        """Return False: only the questions are read."""
        return False

    def find(self, run: CheckInput) -> Iterator[Finding]:
        """Yield what leaks by answers, then by keywords."""
        questions = [question for question in run.questions if question.answerable]
        texts = {question.id: fold(question.text) for question in questions}
        answered = [question for question in questions if question.answers]
        leaking = [
            question.id for question in answered if _gives_answer_away(question, texts[question.id])
        ]
        if leaking:
            share = len(leaking) / len(answered)
            yield Finding(
                self.name,
                "warning" if share > _WARNING_SHARE else "note",
                f"{len(leaking):,} of {len(answered):,} questions with an answer "
                f"({numbers.percent(share)}) may give it away: it stands in their own text",
                "reword those that do: nothing need be retrieved to say it",
                tuple(leaking)[:MAX_EXAMPLES],
            )
        if not run.prepared.config.settings.answer_test.keywords:
            return
        judged = [question for question in questions if question.keywords]
        echoed = [
            question.id
            for question in judged
            if all(occurs(keyword, texts[question.id]) for keyword in question.keywords)
        ]
        if echoed:
            share = len(echoed) / len(judged)
            yield Finding(
                self.name,
                "warning" if share > _WARNING_SHARE else "note",
                f"{len(echoed):,} of {len(judged):,} questions with keywords "
                f"({numbers.percent(share)}) with all of them in their own text: an answer "
                "that repeats the question counts as right",
                "name keywords that only the answer has, or set answer_test: {keywords: false}",
                tuple(echoed)[:MAX_EXAMPLES],
            )


def _gives_answer_away(question: Question, text: str) -> bool:
    return any(
        spans.count_visible(answer) >= _MIN_ANSWER_CHARS
        and not is_yes_or_no(answer)
        and occurs(answer, text)
        and not _is_offered(answer, text)
        for answer in question.answers
    )


def _is_offered(answer: str, text: str) -> bool:
    """Return whether a folded text offers an answer as one of two."""
    return re.search(_CHOICE.format(re.escape(fold(answer))), text) is not None
