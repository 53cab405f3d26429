"""Find a quote in its document: exact match, then case and white space ignored, then fuzzy."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

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
