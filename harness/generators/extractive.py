"""Extractive: answers in the context's own sentences, without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt, Le

from harness.generators import Generator, generators
from harness.records import Answer
from harness.registry import injected
from harness.text import words as tokens
from harness.text.sentences import find_sentences
from harness.text.stopwords import Language, stop_words
from harness.text.words import search_terms

_ENDINGS = re.compile(r"(?:'s|ies|ing|ed|es|s|ly)\Z")
_MIN_SCORE = 1e-9
"""A sentence that shares nothing with the question is no answer, whatever the threshold."""


@generators.register
@dataclass(frozen=True)
class Extractive(Generator):
    """The `sentences` of the context that share most with the question; declines under `threshold`.

    A sentence's score is the share of the question's words that it holds, endings and words like
    "the" aside; ties go to the earlier one. Weighting words by rarity and counting the heading
    above a sentence were tried on the shipped test set, and gave no better answers. It is a floor
    for generators: offline, deterministic, and it never says what the context does not.
    """

    sentences: Annotated[int, Gt(0)] = 1
    threshold: Annotated[float, Ge(0), Le(1)] = 0.15
    language: Language | None = injected()

    name: ClassVar[str] = "extractive"
    version: ClassVar[int] = 2
    copies: ClassVar[bool] = True

    def answer(self, question: str, context: str, sample: int = 0) -> Answer:
        """Return the best sentences, in their order in the context, or an empty decline."""
        context_sentences = [context[start:end] for start, end in find_sentences(context)]
        ranked = _rank_sentences(question, context_sentences, self.language or "english")
        declined = not ranked or ranked[0][0] < max(self.threshold, _MIN_SCORE)
        chosen = [] if declined else sorted(place for _, place in ranked[: self.sentences])
        text = " ".join(_strip_list_mark(context_sentences[place]) for place in chosen)
        return Answer(
            text,
            declined,
            tokens_in=tokens.count(context),
            tokens_out=tokens.count(text),
            finish="declined" if declined else "stop",
        )


def _rank_sentences(
    question: str, context_sentences: list[str], language: Language
) -> list[tuple[float, int]]:
    """Return (score, place) of each sentence that is not a heading, best first."""
    stems = set(_stems(question, language))
    if not stems:
        return []
    shares = [
        (len(stems & set(_stems(sentence, language))) / len(stems), place)
        for place, sentence in enumerate(context_sentences)
        if not sentence.startswith("#")
    ]
    return sorted(shares, key=lambda share: (-share[0], share[1]))


def _stems(text: str, language: Language) -> list[str]:
    """Return the words of `text` but stop words, English ones without their endings."""
    words = [word for word in search_terms(text) if word not in stop_words(language)]
    if language != "english":
        return words
    return [_ENDINGS.sub("", word) if len(word) > 4 else word for word in words]


def _strip_list_mark(sentence: str) -> str:
    """Return a list item without its mark; the words stay those of the context."""
    return re.sub(r"\A(?:[-*+>]|\d+[.)])\s+", "", sentence)
