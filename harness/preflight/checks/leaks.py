"""Finds questions whose own text contains the answer, or every keyword that it is judged by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from harness.preflight.checks.check_input import (
    MAX_EXAMPLES,
    CheckInput,
    Finding,
    Level,
    describe_share,
)
from harness.ranking.relevance import fold, is_yes_or_no, occurs
from harness.text import spans

_MIN_ANSWER_CHARS = 4
"""Visible characters from which an answer in a question's text is no chance."""
_WARNING_SHARE = 0.05
"""The share of questions from which it is a warning."""
_CHOICE = r"(?:\b{0},? or\b|\bor (?:(?:an?|the|in|on|at|by|of) )*{0}\b)"
"""An answer that is offered beside another."""


def find_leaks(run: CheckInput) -> Iterator[Finding]:
    """Yield what leaks by answers, then by keywords."""
    questions = [(q, fold(q.text)) for q in run.questions if q.answerable]
    answered = [(question, text) for question, text in questions if question.answers]
    yield from _report_leaks(
        [q.id for q, text in answered if any(_leaks(answer, text) for answer in q.answers)],
        len(answered),
        "with an answer",
        "may give it away: it stands in their own text",
        "reword those that do: nothing need be retrieved to say it",
    )
    if run.prepared.config.settings.answer_test.keywords:
        judged = [(question, text) for question, text in questions if question.keywords]
        yield from _report_leaks(
            [q.id for q, text in judged if all(occurs(word, text) for word in q.keywords)],
            len(judged),
            "with keywords",
            "with all of them in their own text: an answer that repeats the question counts as "
            "right",
            "name keywords that only the answer has, or set answer_test: {keywords: false}",
        )


def _report_leaks(
    leaking: list[str], total: int, which: str, fact: str, remedy: str
) -> Iterator[Finding]:
    if leaking:
        level: Level = "warning" if len(leaking) > _WARNING_SHARE * total else "note"
        text = f"{describe_share(len(leaking), total, 'question', f' {which}')} {fact}"
        yield Finding("leaks", level, text, remedy, tuple(leaking)[:MAX_EXAMPLES])


def _leaks(answer: str, text: str) -> bool:
    """Return whether a folded text gives an answer away; one of two that it offers is none."""
    return (
        spans.count_visible(answer) >= _MIN_ANSWER_CHARS
        and not is_yes_or_no(answer)
        and occurs(answer, text)
        and re.search(_CHOICE.format(re.escape(fold(answer))), text) is None
    )
