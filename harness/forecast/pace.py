"""How long replies of a model are and take, as those that are kept tell."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from harness.chat import Reply
from harness.forecast import sizes
from harness.forecast.sizes import Size
from harness.kept import Answered

READ = 200
"""Kept replies that are looked at, at most."""


@dataclass(frozen=True)
class Pace:
    """What a reply takes: seconds, and tokens; None: not known.

    `scale` is how many tokens a prompt has for each that it was taken to be about.
    """

    seconds: float | None = None
    tokens_out: float | None = None
    scale: float | None = None

    def tokens_in(self, sent: Size) -> int:
        """Return how many tokens what is sent is expected to be."""
        scale = 1.0 if self.scale is None else self.scale
        return min(sent.most, math.ceil(sent.about * scale))

    def out(self, calls: int) -> int | None:
        """Return how many tokens so many replies are expected to have."""
        return None if self.tokens_out is None else math.ceil(calls * self.tokens_out)


def of_answers(kept: Sequence[Answered]) -> Pace:
    """Return the pace of a generator, from some of its answers."""
    answers = [each.answer for each in kept if each.answer is not None]
    shares = [
        each.tokens_in / sizes.of(each.prompt).about
        for each in answers
        if each.tokens_in and each.prompt
    ]
    return Pace(
        _mean([each.seconds for each in kept if each.answer is not None]),
        _mean([each.tokens_out for each in answers]),
        _mean(shares),
    )


def of_replies(kept: Sequence[Reply]) -> Pace:
    """Return the pace of a model asked for wordings or verdicts; what they took is not kept."""
    return Pace(tokens_out=_mean([each.tokens_out for each in kept]))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None
