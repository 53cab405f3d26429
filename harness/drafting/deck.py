"""The passages that questions are drafted from, in the order in which a seed draws them.

They are windows of whole sentences, and not the configuration's chunks: questions that were made
of one chunker's chunks would favour it.
"""

from __future__ import annotations

import random
from itertools import groupby

import numpy as np

from harness.chunking import ChunkSet
from harness.drafting.categories import Category
from harness.records import Chunk
from harness.retrievers import Searchable

SIZE = 1000
"""Characters a window, at most; a sentence that is longer is one of its own, and is not drawn."""
LEAST = 20
_SHORT = 200


class Deck:
    """Draws passages: no document twice before all have been drawn from once."""

    def __init__(self, searched: Searchable, seed: int) -> None:
        self._searched = searched
        self._order = _order(searched.chunks, random.Random(seed))
        self._drawn: set[tuple[Category, int]] = set()
        self._next = 0

    @property
    def documents(self) -> int:
        """How many documents have a passage that is long enough."""
        return len({self._searched.chunks[at].span.doc for at in self._order})

    def draw(self, category: Category) -> tuple[Chunk, ...] | None:
        """Return the passages of the next question; None where all were drawn for its category.

        The first is the next in turn, the others are the nearest to it of other documents.
        """
        for step in range(len(self._order)):
            at = (self._next + step) % len(self._order)
            if (category, at) not in self._drawn:
                self._drawn.add((category, at))
                self._next = at + 1
                return self._with_related(self._order[at], category.passages)
        return None

    def _with_related(self, first: int, wanted: int) -> tuple[Chunk, ...]:
        chunks = self._searched.chunks
        found = [chunks[first]]
        vector = self._searched.vectors([first]) if wanted > 1 else None
        while vector is not None and len(found) < wanted:
            taken = chunks.rows_of([each.span.doc for each in found])
            others = np.setdiff1d(np.array(self._order, dtype=np.int64), taken)
            if not len(others):
                break
            ((near, *_),) = self._searched.among(others).nearest(vector, 1)
            found.append(chunks[near.chunk])
        return tuple(found)


def _order(chunks: ChunkSet, drawn: random.Random) -> list[int]:
    """Return the numbers of the usable windows: a round over all documents, then another."""
    hands: list[list[int]] = []
    for _, window in groupby(chunks, lambda chunk: chunk.span.doc):
        sizes = {each.index: len(each.text) for each in window if len(each.text) <= SIZE}
        # The end of a document is often a line or two; a document of no more is drawn as it is.
        least = min(_SHORT, max(sizes.values(), default=0))
        hand = [at for at, size in sizes.items() if size >= max(least, LEAST)]
        drawn.shuffle(hand)
        if hand:
            hands.append(hand)
    drawn.shuffle(hands)
    rounds = max(map(len, hands), default=0)
    return [hand[at] for at in range(rounds) for hand in hands if at < len(hand)]
