"""Texts as long as those that can reach a model, where rankings are not kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import nlargest

from harness import context, tokens


@dataclass(frozen=True)
class Room:
    """No chunk is longer than `chunk`, and no context than `context`, in bytes.

    `usual` is that context with no more tokens than one may have.
    """

    chunk: str
    context: str
    usual: str


def room(texts: Iterable[str], chunks: int, budget: int) -> Room:
    """Return the room of a context of `chunks` of these texts, of `budget` tokens at most."""
    longest, most = "", 0

    def pieces() -> Iterator[str]:
        nonlocal longest, most
        for text in texts:
            if (size := length(text)) > most:
                longest, most = text, size
            yield text if len(text) <= budget else tokens.cut(text, budget)[0]

    whole = context.SEPARATOR.join(nlargest(chunks, pieces(), key=length))
    return Room(longest, whole, tokens.cut(whole, budget)[0])


def length(text: str) -> int:
    """Return the bytes of a text."""
    return len(text.encode("utf-8", "replace"))
