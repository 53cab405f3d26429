"""What of a ranking reaches the generator: chunks in order, under a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness import tokens
from harness.records import Hit, Span

SEPARATOR = "\n\n"


def assemble(hits: Sequence[Hit], chunks: int, budget: int) -> str:
    """Return the text of the first `chunks` hits, cut where `budget` tokens are spent.

    Tokens are counted as `tokens.count` does; the separator between chunks has none.
    """
    return joined(cut(hits, chunks, budget))


def joined(parts: Iterable[tuple[Span, str]]) -> str:
    """Return the text of what `cut` returns."""
    return SEPARATOR.join(text for _, text in parts)


def cut(hits: Sequence[Hit], chunks: int, budget: int) -> list[tuple[Span, str]]:
    """Return of each hit that reaches the generator what of it does: its place and its text."""
    parts: list[tuple[Span, str]] = []
    for hit in hits[:chunks]:
        if budget == 0:
            break
        text, used = tokens.cut(hit.chunk.text, budget)
        budget -= used
        doc, start = hit.chunk.span.doc, hit.chunk.span.start
        parts.append((Span(doc, start, start + len(text)), text))
    return parts
