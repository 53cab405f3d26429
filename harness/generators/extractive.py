"""Extractive: answers in the context's own sentences, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le

from harness import tokens
from harness.generators import generators
from harness.records import Answer
from harness.sentences import sentences
from harness.stopwords import ENGLISH

_WORD = re.compile(r"\w+")
_ENDINGS = re.compile(r"(?:'s|ies|ing|ed|es|s|ly)\Z")
_LEAST = 1e-9
"""A sentence that shares nothing with the question is no answer, whatever the threshold."""


@generators.register
@dataclass(frozen=True)
class Extractive:
    """The `sentences` of the context that share most with the question; declines under `threshold`.

    A sentence's score is the share of the question's words that it holds, endings and words like
    "the" aside; ties go to the earlier one. Weighting words by rarity and counting the heading
    above a sentence were tried on the shipped test set, and gave no better answers. It is a floor
    for generators: offline, deterministic, and it never says what the context does not.
    """

    sentences: Annotated[int, Gt(0)] = 1
    threshold: Annotated[float, Ge(0), Le(1)] = 0.15

    name: ClassVar[str] = "extractive"
    version: ClassVar[int] = 1
    answers: ClassVar[bool] = True
    copies: ClassVar[bool] = True
    at_once: ClassVar[int] = 1
    repeat: ClassVar[int] = 1

    def check(self) -> None:
        """There is nothing to check."""

    def answer(self, question: str, context: str, sample: int = 0) -> Answer:
        """Return the best sentences, in their order in the context, or an empty decline."""
        said = [context[start:end] for start, end in sentences(context)]
        ranked = _ranked(question, said)
        declined = not ranked or ranked[0][0] < max(self.threshold, _LEAST)
        chosen = [] if declined else sorted(place for _, place in ranked[: self.sentences])
        text = " ".join(_bare(said[place]) for place in chosen)
        return Answer(
            text,
            declined,
            tokens_in=tokens.count(context),
            tokens_out=tokens.count(text),
            finish="declined" if declined else "stop",
        )


def _ranked(question: str, said: list[str]) -> list[tuple[float, int]]:
    """Return (score, place) of each sentence that is not a heading, best first."""
    wanted = set(_stems(question))
    if not wanted:
        return []
    shares = [
        (len(wanted & set(_stems(sentence))) / len(wanted), place)
        for place, sentence in enumerate(said)
        if not sentence.startswith("#")
    ]
    return sorted(shares, key=lambda each: (-each[0], each[1]))


def _stems(text: str) -> list[str]:
    words = (word for word in _WORD.findall(text.lower()) if word not in ENGLISH)
    return [_ENDINGS.sub("", word) if len(word) > 4 else word for word in words]


def _bare(sentence: str) -> str:
    """Return a list item without its mark; the words stay those of the context."""
    return re.sub(r"\A(?:[-*+>]|\d+[.)])\s+", "", sentence)
