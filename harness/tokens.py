"""The word tokens that texts are counted, cut and compared in: one definition for all."""

from __future__ import annotations

import re
from typing import Literal

Tokens = Literal["words", "whitespace"]
"""`words`: lower case, `\\w+|[^\\w\\s]`; `whitespace`: lower case, split at white space."""

_PIECE = re.compile(r"\w+|[^\w\s]")


def tokenise(text: str, tokens: Tokens = "words") -> list[str]:
    """Return the lower-case tokens of `text`."""
    return _PIECE.findall(text.lower()) if tokens == "words" else text.lower().split()


def count(text: str) -> int:
    """Return how many word tokens `text` has: the unit of every token budget."""
    return sum(1 for _ in _PIECE.finditer(text))


def starts(text: str) -> list[int]:
    """Return where each word token of `text` starts."""
    return [piece.start() for piece in _PIECE.finditer(text)]


def cut(text: str, budget: int) -> tuple[str, int]:
    """Return the start of `text` that holds at most `budget` tokens, and how many it holds.

    What spends the budget ends with its last token, whether or not a text does there.
    """
    used = 0
    end = 0
    for piece in _PIECE.finditer(text):
        if used == budget:
            break
        used += 1
        end = piece.end()
    return text[:end] if used == budget else text, used
