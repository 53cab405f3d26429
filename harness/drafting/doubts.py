"""What is wrong with a draft that can be seen without asking a model, and how hard it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.drafting.replies import Said
from harness.locate import locate
from harness.metrics.token_f1 import TokenF1
from harness.records import Chunk, Passage, Span
from harness.sentences import sentences
from harness.squad import normalised
from harness.stopwords import ENGLISH

_REFERS = re.compile(
    r"\b(?:the|this|that|these|those|both|each|all|following|given|provided|above|two|three)\s+"
    r"(?:passage|text|excerpt|context|paragraph|snippet|document)s?\b"
    r"|\bpassages?\s+\d|\b(?:mentioned|described|stated|given|listed)\s+(?:above|below)\b",
    re.IGNORECASE,
)
_KNOWN = 0.5
"""Token F1 from which an answer given without the evidence counts as the same."""
_PLAIN = 0.5
_MARKS = re.compile(r"[\"“”]")
_TELLING = 20
"""Characters from which what stands between quotation marks is a quote of its own."""


def refers(question: str) -> bool:
    """Return whether a question speaks of a text that whoever is asked does not see."""
    return _REFERS.search(question) is not None


def leaks(said: Said) -> bool:
    """Return whether all words of the answer that say something stand in the question."""
    answer = normalised(said.answer)
    telling = [word for word in answer if word not in ENGLISH] or answer
    return bool(telling) and set(telling) <= set(normalised(said.question))


def known(said: Said, guess: str) -> bool:
    """Return whether an answer given without the evidence is the draft's."""
    return (TokenF1().compare(guess, [said.answer]).value or 0.0) >= _KNOWN


def stands_in(said: Said, evidence: Sequence[str]) -> bool:
    """Return whether all words that the answer adds to the question stand in the evidence."""
    new = set(normalised(said.answer)) - set(normalised(said.question)) - ENGLISH
    return bool(new) and new <= set(normalised(" ".join(evidence)))


def placed(said: Said, passages: Sequence[Chunk]) -> list[Passage] | None:
    """Return the whole sentences that are quoted, in groups of their own; None if one is nowhere.

    A quote is looked for in its own passage first, which may not be the one that was named.
    """
    spans: dict[Span, str] = {}
    for at, quote in enumerate(said.quotes):
        first = min(at, len(passages) - 1)
        tried = [passages[first], *passages[:first], *passages[first + 1 :]]
        span = next((found for each in tried if (found := _span(quote, each))), None)
        if span is None:
            return None
        chunk = next(each for each in tried if each.span.doc == span.doc)
        start = chunk.span.start
        spans[span] = chunk.text[span.start - start : span.end - start]
    return [Passage(span, text, str(at)) for at, (span, text) in enumerate(spans.items(), 1)]


def difficulty(question: str, evidence: Sequence[Passage]) -> str:
    """Return `hard` for evidence in several documents, and else how far the words are apart.

    `easy` where half of the question's words or more stand in the evidence, `medium` where fewer
    do.
    """
    if len({each.span.doc for each in evidence}) > 1:
        return "hard"
    words = set(normalised(question)) - ENGLISH
    shared = words & set(normalised(" ".join(each.text for each in evidence)))
    return "easy" if len(shared) >= _PLAIN * len(words) else "medium"


def _span(quote: str, passage: Chunk) -> Span | None:
    # Models like to write: The policy states that "...".
    inner = max(_MARKS.split(quote), key=len)
    found = locate(quote, passage.text) or (
        locate(inner, passage.text) if len(inner) >= _TELLING else None
    )
    if found is None:
        return None
    start, end = found.places[0]
    whole = [each for each in sentences(passage.text) if each[0] < end and each[1] > start]
    if not whole:
        return None
    offset = passage.span.start
    return Span(passage.span.doc, offset + whole[0][0], offset + whole[-1][1])
