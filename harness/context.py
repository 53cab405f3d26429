"""What of a ranking reaches the generator: chunks in order, under a token budget."""

from __future__ import annotations

from collections.abc import Sequence

from harness import tokens
from harness.records import Hit

SEPARATOR = "\n\n"


def assemble(hits: Sequence[Hit], chunks: int, budget: int) -> str:
    """Return the text of the first `chunks` hits, cut where `budget` tokens are spent.

    Tokens are counted as `tokens.count` does; the separator between chunks has none.
    """
    parts: list[str] = []
    for hit in hits[:chunks]:
        if budget == 0:
            break
        text, used = tokens.cut(hit.chunk.text, budget)
        budget -= used
        parts.append(text)
    return SEPARATOR.join(parts)
