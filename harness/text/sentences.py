"""Sentence boundary detection: one rule for the sentence chunker and the extractive generator.

A short rule rather than a model: the trained splitters that are still maintained need data that
is fetched at run time, and none of them knows a row of a Markdown table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BREAK = re.compile(
    r"""^[^\S\n]*(?:\#{1,6}[ \t]|\|)[^\n]*                  # a heading or a table row, to its end
      | (?P<number>^[^\S\n]*\d{1,3}[.)])(?=\s)             # the number of a list item: no end
      | (?P<stop>[.!?])["'”’»)\]]*(?=\s+["'“‘«(\[]*[^\W_a-z])   # a stop, then a capital or a digit
      | [。！？｡।॥؟۔።။។]+["'”’»」』）)\]]*               # stops that need no capital, nor a space
      | (?=\n[^\S\n]*\n)                                   # a blank line
      | (?=\n[^\S\n]*(?:[-*+|\#>]|\d{1,3}[.)]\s))          # a list item, table row, heading, quote
      | (?<=\|)(?=\n)                                      # the end of any other row
    """,
    re.VERBOSE | re.MULTILINE,
)
_ABBREVIATION = re.compile(r"(?:\b[A-Z]|\b(?:Mr|Mrs|Ms|Dr|St|vs|No|Inc|Ltd|etc|e\.g|i\.e))\Z")
_MAX_ABBREVIATION_CHARS = 3


def find_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the `(start, end)` of each sentence, without the white space around it.

    A row of a table and a heading each stand for a sentence; a list item starts one.
    """
    start = 0
    for match in _BREAK.finditer(text):
        if match["number"] is not None:
            continue
        # No abbreviation is longer: without the bound a text of many stops takes quadratic time.
        near = max(start, match.start() - _MAX_ABBREVIATION_CHARS)
        if match["stop"] == "." and _ABBREVIATION.search(text, near, match.start()):
            continue
        if text[start : match.end()].strip():
            yield trim(text, start, match.end())
        start = match.end()
    if text[start:].strip():
        yield trim(text, start, len(text))


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return `start` and `end` moved inwards past white space."""
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
