"""What the oracle puts in the place of a context: the gold passages, and nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import get_args

from harness import context, coverage
from harness.records import Case, Chunk, Hit, Question
from harness.settings import Settings
from harness.stored import Given

KINDS: tuple[Given, ...] = get_args(Given)


@dataclass(frozen=True)
class Put:
    """A question, and what a generator is given to read with it; None: it is not asked."""

    question: Question
    given: Given
    context: str | None


def puts(questions: Iterable[Question], settings: Settings) -> list[Put]:
    """Return what generators are given with each question: first all evidence, then nothing."""
    tokens = settings.context.tokens
    asked = list(questions)
    of_all = [Put(each, "evidence", evidence(each, tokens)) for each in asked]
    return [*of_all, *(Put(each, "nothing", "") for each in asked)]


def wanted(questions: Iterable[Question], settings: Settings) -> list[tuple[str, str]]:
    """Return the distinct pairs of question and context that the oracle asks each generator."""
    pairs = [(each.question.text, each.context) for each in puts(questions, settings)]
    return list(dict.fromkeys((text, read) for text, read in pairs if read is not None))


def evidence(question: Question, tokens: int) -> str | None:
    """Return the gold passages as a context of at most `tokens` tokens.

    Of each group the passage that the test set names first, in the order of the documents. None
    where there is none, or the question is unanswerable.
    """
    if not question.passages or not question.answerable:
        return None
    firsts = {group[0].span: group[0] for group in coverage.groups(Case(question)).values()}
    hits = [Hit(Chunk(at, span, firsts[span].text), 0.0) for at, span in enumerate(sorted(firsts))]
    return context.assemble(hits, len(hits), tokens)
