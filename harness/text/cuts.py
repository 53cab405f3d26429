"""Split a text at the coarsest separators that make its pieces small enough."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from harness.text.sentences import trim

Places = Sequence[int]
"""Offsets at which a text may be cut, in order."""


def cut_pieces(
    text: str, start: int, end: int, levels: Sequence[Places], size: int
) -> Iterator[tuple[int, int]]:
    """Yield the pieces of `text[start:end]`, of at most `size` characters wherever that can be.

    What is too long is cut at the places of the first level that has any in it, and each part
    that is still too long at those of the next levels; neighbours that fit together are one
    piece. What no level can cut is left as long as it is. Pieces begin and end with a visible
    character, and leave out none.
    """
    start, end = trim(text, start, end)
    if start >= end:
        return
    while levels and end - start > size:
        first, *levels = levels
        inner = first[bisect_right(first, start) : bisect_left(first, end)]
        if inner:
            yield from _pack(text, [start, *inner, end], levels, size)
            return
    yield start, end


def _pack(
    text: str, edges: Sequence[int], levels: Sequence[Places], size: int
) -> Iterator[tuple[int, int]]:
    piece: tuple[int, int] | None = None
    for edge, next_edge in pairwise(edges):
        start, end = trim(text, edge, next_edge)
        if start >= end:
            continue
        if piece and end - piece[0] <= size:
            piece = piece[0], end
            continue
        if piece:
            yield piece
        piece = None
        if end - start <= size:
            piece = start, end
        else:
            yield from cut_pieces(text, start, end, levels, size)
    if piece:
        yield piece
