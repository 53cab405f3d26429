"""Set operations on character spans: union, intersection, overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
