"""Checks a draft without a model, and rates its difficulty."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.draft.draft_prompts import DraftReply
from harness.metrics.squad import TokenF1
from harness.records import Chunk, Passage, Span
from harness.text.sentences import find_sentences
from harness.text.spans import locate
from harness.text.stopwords import ENGLISH
from harness.text.words import normalise_answer

_TEXT_REFERENCE = re.compile(
    r"\b(?:the|this|that|these|those|both|each|all|following|given|provided|above|two|three)\s+"
    r"(?:passage|text|excerpt|context|paragraph|snippet|document)s?\b"
    r"|\bpassages?\s+\d|\b(?:mentioned|described|stated|given|listed)\s+(?:above|below)\b",
    re.IGNORECASE,
)
_MIN_KNOWN_F1 = 0.5
"""Token F1 from which an answer given without the evidence counts as the same."""
_MIN_EASY_SHARE = 0.5
_QUOTATION_MARKS = re.compile(r"[\"“”]")
_MIN_QUOTE_CHARS = 20
"""Characters from which what stands between quotation marks is a quote of its own."""


def refers_to_text(question: str) -> bool:
    """Return whether a question speaks of a text that whoever is asked does not see."""
    return _TEXT_REFERENCE.search(question) is not None


def leaks_answer(draft: DraftReply) -> bool:
    """Return whether all words of the answer that say something stand in the question."""
    answer = normalise_answer(draft.answer)
    telling = [word for word in answer if word not in ENGLISH] or answer
    return bool(telling) and set(telling) <= set(normalise_answer(draft.question))


def is_known(draft: DraftReply, guess: str) -> bool:
    """Return whether an answer given without the evidence is the draft's."""
    return (TokenF1().compare(guess, [draft.answer]).value or 0.0) >= _MIN_KNOWN_F1


def is_in_evidence(draft: DraftReply, evidence: Sequence[str]) -> bool:
    """Return whether all words that the answer adds to the question stand in the evidence."""
    new = set(normalise_answer(draft.answer)) - set(normalise_answer(draft.question)) - ENGLISH
    return bool(new) and new <= set(normalise_answer(" ".join(evidence)))


def locate_quotes(draft: DraftReply, passages: Sequence[Chunk]) -> list[Passage] | None:
    """Return the whole sentences that are quoted, in groups of their own; None if one is nowhere.

    A quote is looked for in its own passage first, which may not be the one that was named.
    """
    spans: dict[Span, str] = {}
    for number, quote in enumerate(draft.quotes):
        first = min(number, len(passages) - 1)
        tried = [passages[first], *passages[:first], *passages[first + 1 :]]
        span = next(
            (
                sentence_span
                for passage in tried
                if (sentence_span := _locate_sentences(quote, passage))
            ),
            None,
        )
        if span is None:
            return None
        chunk = next(passage for passage in tried if passage.span.doc == span.doc)
        start = chunk.span.start
        spans[span] = chunk.text[span.start - start : span.end - start]
    return [
        Passage(span, text, str(number)) for number, (span, text) in enumerate(spans.items(), 1)
    ]


def rate_difficulty(question: str, evidence: Sequence[Passage]) -> str:
    """Return `hard` for evidence in several documents, and else how far the words are apart.

    `easy` where half of the question's words or more stand in the evidence, `medium` where fewer
    do.
    """
    if len({passage.span.doc for passage in evidence}) > 1:
        return "hard"
    words = set(normalise_answer(question)) - ENGLISH
    shared = words & set(normalise_answer(" ".join(passage.text for passage in evidence)))
    return "easy" if len(shared) >= _MIN_EASY_SHARE * len(words) else "medium"


def _locate_sentences(quote: str, passage: Chunk) -> Span | None:
    # Models like to write: The policy states that "...".
    inner = max(_QUOTATION_MARKS.split(quote), key=len)
    location = locate(quote, passage.text) or (
        locate(inner, passage.text) if len(inner) >= _MIN_QUOTE_CHARS else None
    )
    if location is None:
        return None
    start, end = location.places[0]
    whole = [
        sentence
        for sentence in find_sentences(passage.text)
        if sentence[0] < end and sentence[1] > start
    ]
    if not whole:
        return None
    offset = passage.span.start
    return Span(passage.span.doc, offset + whole[0][0], offset + whole[-1][1])
