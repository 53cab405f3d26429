"""How many tokens of a model a text is: about so many, and at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness import tokens

PER_WORD = 1.5
"""Tokens of a model for each word or mark; English has some 1.2 to 1.4."""
PER_BYTE = 0.25
"""Tokens of a model for each byte where that is more, as in scripts without spaces."""


@dataclass(frozen=True)
class Size:
    """Tokens of a model: `about` so many, and no more than `most`, a token being a byte or more."""

    about: float = 0.0
    most: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.about + other.about, self.most + other.most)

    def __mul__(self, times: int) -> Size:
        return Size(self.about * times, self.most * times)

    def or_more(self, other: Size) -> Size:
        """Return the larger of each figure."""
        return Size(max(self.about, other.about), max(self.most, other.most))


def of(text: str) -> Size:
    """Return the size of a text."""
    most = len(text.encode("utf-8", "replace"))
    return Size(min(most, max(PER_WORD * tokens.count(text), PER_BYTE * most)), most)


def of_all(texts: Iterable[str]) -> Size:
    """Return the size of texts taken together."""
    return sum(map(of, texts), Size())
