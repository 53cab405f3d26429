"""Extractive: answers in the context's own sentences, without a model."""

from __future__ import annotations

import math
import re
from collections import Counter
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


@generators.register
@dataclass(frozen=True)
class Extractive:
    """The `sentences` of the context that share most with the question; declines under `threshold`.

    A sentence's score is the share of the question's words it holds, each weighted by how rare it
    is among the context's sentences; the heading above a sentence counts a third. It is a floor
    for generators: offline, deterministic, and it never says what the context does not.
    """

    sentences: Annotated[int, Gt(0)] = 1
    threshold: Annotated[float, Ge(0), Le(1)] = 0.3

    name: ClassVar[str] = "extractive"
    version: ClassVar[int] = 1
    answers: ClassVar[bool] = True
    copies: ClassVar[bool] = True

    def check(self) -> None:
        """There is nothing to check."""

    def answer(self, question: str, context: str) -> Answer:
        """Return the best sentences, in their order in the context, or an empty decline."""
        said = [context[start:end] for start, end in sentences(context)]
        ranked = self._ranked(question, said)
        if not ranked or ranked[0][0] < self.threshold:
            return self._answer("", context, declined=True)
        chosen = sorted(place for _, place in ranked[: self.sentences])
        return self._answer(" ".join(_bare(said[place]) for place in chosen), context)

    def _ranked(self, question: str, said: list[str]) -> list[tuple[float, int]]:
        """Return (score, place) of each sentence that is not a heading, best first."""
        words = [set(_stems(sentence)) for sentence in said]
        times = Counter(stem for stems in words for stem in stems)
        rare = {s: math.log(1 + len(said) / (0.5 + times[s])) for s in set(_stems(question))}
        total = sum(rare.values())
        if not total:
            return []
        ranked, heading = [], set[str]()
        for place, stems in enumerate(words):
            if said[place].startswith("#"):
                heading = stems
                continue
            here = sum(rare[stem] for stem in rare if stem in stems)
            above = sum(rare[stem] for stem in rare if stem in heading and stem not in stems)
            ranked.append(((here + above / 3) / total, place))
        return sorted(ranked, key=lambda each: (-each[0], each[1]))

    def _answer(self, text: str, context: str, declined: bool = False) -> Answer:
        return Answer(
            text,
            declined,
            tokens_in=tokens.count(context),
            tokens_out=tokens.count(text),
            model=None,
            finish="declined" if declined else "stop",
        )


def _stems(text: str) -> list[str]:
    words = (word for word in _WORD.findall(text.lower()) if word not in ENGLISH)
    return [_ENDINGS.sub("", word) if len(word) > 4 else word for word in words]


def _bare(sentence: str) -> str:
    """Return a list item without its mark; the words stay those of the context."""
    return re.sub(r"\A(?:[-*+>]|\d+[.)])\s+", "", sentence)
