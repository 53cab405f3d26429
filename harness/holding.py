"""Which sentence of a context held the answer: what a generator had to find in it.

The rule is that of the answer test, put to each sentence of the context instead of to the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from harness.records import Question, Span
from harness.relevance import folded, occurs
from harness.sentences import sentences
from harness.squad import normalised

LEAST = 0.5
"""The share of a gold answer's words that a sentence must have to hold it."""
_KEPT = 4_096
"""Stretches of text that are kept as they were read: the cells of a grid retrieve the same."""
_NOWHERE = (0.0, 0, 0)


def held_in(
    question: Question, parts: Iterable[tuple[Span, str]], by_keywords: bool = True
) -> Span | None:
    """Return the sentence of a context that held the answer, as a stretch of its document.

    Each part is cut into sentences by itself, as it was sent. With keywords it is the sentence in
    which most of the question's keywords stand, at word boundaries. Without, it is the one that has
    the largest share of the words of a gold answer, the one it has most of: words as `token_f1`
    normalises them, each as often as the answer has it, and a share of at least `LEAST`. Of equals
    it is the first. None: no sentence has any keyword, or enough words; or the question is not
    answerable.

    Args:
        question: whose answer is looked for.
        parts: the places of what was sent, each with its text, in their order.
        by_keywords: whether the answer test looks at keywords where a question has them.
    """
    if not question.answerable:
        return None
    if by_keywords and question.keywords:
        wanted, best_of = question.keywords, _most_keywords
    else:
        wanted, best_of = question.answers, _most_words
    found: Span | None = None
    most = 0.0
    for place, text in parts:
        share, start, end = best_of(wanted, text)
        if share > most:
            found, most = Span(place.doc, place.start + start, place.start + end), share
    return found


Rated = tuple[float, int, int]
"""The best sentence of a text: its share of what is wanted, and its ends."""


@lru_cache(maxsize=_KEPT)
def _most_keywords(keywords: tuple[str, ...], text: str) -> Rated:
    whole = _folded(text)
    # Most texts have none of them, and need not be cut into sentences.
    there = [keyword for keyword in keywords if occurs(keyword, whole)]
    best = _NOWHERE
    for start, end in sentences(text) if there else ():
        said = folded(text[start:end])
        count = sum(occurs(keyword, said) for keyword in there)
        if count > best[0]:
            best = (float(count), start, end)
        if count == len(there):
            break
    return best


@lru_cache(maxsize=_KEPT)
def _most_words(answers: tuple[str, ...], text: str) -> Rated:
    wanted = [Counter(said) for answer in answers if (said := normalised(answer))]
    best = _NOWHERE
    for start, end, words in _words(text) if wanted else ():
        share = max(_recalled(each, words) for each in wanted)
        if share >= LEAST and share > best[0]:
            best = (share, start, end)
    return best


def _recalled(wanted: Counter[str], words: Counter[str]) -> float:
    return sum(min(wanted[word], words[word]) for word in wanted if word in words) / wanted.total()


@lru_cache(maxsize=_KEPT)
def _folded(text: str) -> str:
    return folded(text)


@lru_cache(maxsize=_KEPT // 4)
def _words(text: str) -> tuple[tuple[int, int, Counter[str]], ...]:
    found = sentences(text)
    return tuple((start, end, Counter(normalised(text[start:end]))) for start, end in found)
