"""Assembles the generator's context: the first chunks of a ranking, cut at a token budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.records import ContextCut, Hit, Span
from harness.text import words

SEPARATOR = "\n\n"


def assemble_context(hits: Sequence[Hit], chunks: int, budget: int) -> str:
    """Return the text of the first `chunks` hits, cut where `budget` tokens are spent.

    Tokens are counted as `tokens.count` does; the separator between chunks has none.
    """
    return join_parts(cut_hits(hits, chunks, budget))


def join_parts(parts: Iterable[tuple[Span, str]]) -> str:
    """Return the text of what `cut_hits` returns."""
    return SEPARATOR.join(text for _, text in parts)


def cut_hits(hits: Sequence[Hit], chunks: int, budget: int) -> list[tuple[Span, str]]:
    """Return of each hit that reaches the generator what of it does: its place and its text."""
    parts: list[tuple[Span, str]] = []
    for hit in hits[:chunks]:
        if budget == 0:
            break
        text, used = words.cut(hit.chunk.text, budget)
        budget -= used
        doc, start = hit.chunk.span.doc, hit.chunk.span.start
        parts.append((Span(doc, start, start + len(text)), text))
    return parts


def find_cut(texts: Iterable[str], context: str) -> ContextCut | None:
    """Return of which of these texts, from the first on, a context is made; None: of others."""
    begin = 0
    for count, text in enumerate(texts, start=1):
        if len(text) >= len(context) - begin and text.startswith(context[begin:]):
            return ContextCut(count, len(context) - begin)
        if not context.startswith(text + SEPARATOR, begin):
            return None
        begin += len(text) + len(SEPARATOR)
    return None


def join_cut(texts: Sequence[str], cut: ContextCut) -> str:
    """Return the context that `find_cut` was given, from as many texts as it is made of."""
    return SEPARATOR.join([*texts[:-1], texts[-1][: cut.characters]])
