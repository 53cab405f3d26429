"""Set operations on character spans: union, intersection, overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.records import Span


def union(spans: Iterable[Span]) -> list[Span]:
    """Return the disjoint spans, sorted, that hold every character of `spans` once."""
    merged: list[Span] = []
    for span in sorted(spans):
        last = merged[-1] if merged else None
        if last and last.doc == span.doc and span.start <= last.end:
            if span.end > last.end:
                merged[-1] = Span(last.doc, last.start, span.end)
        elif span.start < span.end:
            merged.append(span)
    return merged


def intersect(one: Span, others: Iterable[Span]) -> list[Span]:
    """Return the parts of `one` that lie in `others` (disjoint spans)."""
    return [
        Span(one.doc, max(one.start, other.start), min(one.end, other.end))
        for other in others
        if other.doc == one.doc and other.start < one.end and one.start < other.end
    ]


def count_characters(spans: Iterable[Span]) -> int:
    """Return how many characters `spans` hold, those held twice counted twice."""
    return sum(span.end - span.start for span in spans)


def overlap(ones: Sequence[Span], others: Sequence[Span]) -> int:
    """Return how many characters two sets of disjoint spans have in common."""
    return sum(count_characters(intersect(one, others)) for one in ones)


def count_visible(text: str) -> int:
    """Return how many characters of `text` are not white space."""
    return sum(map(len, text.split()))


How = Literal["exact", "folded", "fuzzy"]

_MIN_SCORE = 95.0


@dataclass(frozen=True)
class Located:
    """Every place of one quote in one text, and how it was recognised there."""

    places: tuple[tuple[int, int], ...]
    how: How


def locate(quote: str, text: str) -> Located | None:
    """Return all places of `quote` in `text`, by the strictest way that finds any.

    In this order: to the letter; with letter case and white space ignored; by rapidfuzz's best
    partial alignment of at least 95. None where none of them finds it.
    """
    if not quote.strip():
        return None
    exact = [(match.start(), match.end()) for match in re.finditer(re.escape(quote), text)]
    if exact:
        return Located(tuple(exact), "exact")
    words = r"\s+".join(re.escape(word) for word in quote.split())
    folded = [(match.start(), match.end()) for match in re.finditer(words, text, re.IGNORECASE)]
    if folded:
        return Located(tuple(folded), "folded")
    from rapidfuzz import fuzz

    if len(quote) > len(text):
        return None
    best = fuzz.partial_ratio_alignment(quote, text, score_cutoff=_MIN_SCORE)
    if best is None or best.dest_end <= best.dest_start:
        return None
    return Located(((best.dest_start, best.dest_end),), "fuzzy")
