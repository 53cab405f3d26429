"""Word tokenisation, for counting, cutting and comparing texts."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Literal

Tokens = Literal["words", "whitespace"]
"""`words`: lower case, `\\w+|[^\\w\\s]`; `whitespace`: lower case, split at white space."""

_TOKEN = re.compile(r"\w+|[^\w\s]")


def tokenise(text: str, tokens: Tokens = "words") -> list[str]:
    """Return the lower-case tokens of `text`."""
    return _TOKEN.findall(text.lower()) if tokens == "words" else text.lower().split()


def count(text: str) -> int:
    """Return how many word tokens `text` has: the unit of every token budget."""
    return sum(1 for _ in _TOKEN.finditer(text))


_count_once = lru_cache(maxsize=4_096)(count)  # the cells of a grid retrieve the same texts
_MAX_CACHED_CHARACTERS = 8_192


def token_starts(text: str) -> list[int]:
    """Return where each word token of `text` starts."""
    return [piece.start() for piece in _TOKEN.finditer(text)]


def cut(text: str, budget: int) -> tuple[str, int]:
    """Return the start of `text` that holds at most `budget` tokens, and how many it holds.

    What spends the budget ends with its last token, whether or not a text does there.
    """
    if len(text) <= _MAX_CACHED_CHARACTERS and (tokens := _count_once(text)) < budget:
        return text, tokens
    ends = [piece.end() for piece in islice(_TOKEN.finditer(text), budget)]
    if len(ends) < budget:
        return text, len(ends)
    return text[: max(ends, default=0)], budget
