"""How long replies of a model are and take, as those that are kept tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness import tokens
from harness.chat import Reply
from harness.kept import Answered

PER_WORD = 1.5
"""Tokens of a model for each word or mark of a prompt, where no kept reply tells; English has some
1.2 to 1.4."""
READ = 200
"""Kept replies that are looked at, at most."""


@dataclass(frozen=True)
class Pace:
    """What a reply takes: seconds, tokens, and tokens for each word sent; None: not known."""

    seconds: float | None = None
    tokens_out: float | None = None
    per_word: float | None = None
    most_per_word: float | None = None

    def tokens_in(self, words: int) -> int:
        """Return how many tokens so many words are expected to be."""
        return math.ceil(words * (self.per_word or PER_WORD))

    def most_in(self, words: int) -> int:
        """Return how many tokens so many words are at most."""
        return math.ceil(words * (self.most_per_word or PER_WORD))

    def out(self, calls: int) -> int | None:
        """Return how many tokens so many replies are expected to have."""
        return None if self.tokens_out is None else math.ceil(calls * self.tokens_out)


def of_answers(kept: Sequence[Answered]) -> Pace:
    """Return the pace of a generator, from some of its answers."""
    answers = [each.answer for each in kept if each.answer is not None]
    shares = [
        each.tokens_in / words
        for each in answers
        if each.tokens_in and each.prompt and (words := tokens.count(each.prompt))
    ]
    return Pace(
        _mean([each.seconds for each in kept if each.answer is not None]),
        _mean([each.tokens_out for each in answers]),
        _mean(shares),
        max(shares, default=None),
    )


def of_replies(kept: Sequence[Reply]) -> Pace:
    """Return the pace of a model asked for wordings or verdicts; what they took is not kept."""
    return Pace(tokens_out=_mean([each.tokens_out for each in kept]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
