"""Draws the passages that questions are drafted from, in an order set by a seed.

They are windows of whole sentences, and not the configuration's chunks: questions that were made
of one chunker's chunks would favour it.
"""

from __future__ import annotations

import random

import numpy as np

from harness.corpus.chunk_set import ChunkSet
from harness.draft.draft_prompts import DraftCategory
from harness.records import Chunk
from harness.retrievers import SearchContext

MAX_WINDOW_CHARS = 1000
"""Characters a window, at most; a sentence that is longer is one of its own, and is not drawn."""
MIN_WINDOW_CHARS = 20
_SHORT_WINDOW_CHARS = 200


class Deck:
    """Draws passages: no document twice before all have been drawn from once."""

    def __init__(self, searched: SearchContext, seed: int) -> None:
        self._searched = searched
        self._order = _shuffle_windows(searched.chunks, random.Random(seed))
        self._drawn: set[tuple[DraftCategory, int]] = set()
        self._next = 0

    @property
    def documents(self) -> int:
        """How many documents have a passage that is long enough."""
        return len({self._searched.chunks[index].span.doc for index in self._order})

    def draw(self, category: DraftCategory) -> tuple[Chunk, ...] | None:
        """Return the passages of the next question; None where all were drawn for its category.

        The first is the next in turn, the others are the nearest to it of other documents.
        """
        for step in range(len(self._order)):
            position = (self._next + step) % len(self._order)
            if (category, position) not in self._drawn:
                self._drawn.add((category, position))
                self._next = position + 1
                return self._with_related(self._order[position], category.passages)
        return None

    def _with_related(self, first: int, count: int) -> tuple[Chunk, ...]:
        chunks = self._searched.chunks
        passages = [chunks[first]]
        vector = self._searched.vectors([first]) if count > 1 else None
        while vector is not None and len(passages) < count:
            used = chunks.rows_of([passage.span.doc for passage in passages])
            others = np.setdiff1d(np.array(self._order, dtype=np.int64), used)
            if not len(others):
                break
            ((near, *_),) = self._searched.among(others).nearest(vector, 1)
            passages.append(chunks[near.chunk])
        return tuple(passages)


def _shuffle_windows(chunks: ChunkSet, shuffler: random.Random) -> list[int]:
    """Return the numbers of the usable windows: a round over all documents, then another."""
    hands: list[list[int]] = []
    for doc in chunks.documents:
        sizes = {
            window_chunk.index: len(window_chunk.text)
            for window_chunk in chunks.in_document(doc)
            if len(window_chunk.text) <= MAX_WINDOW_CHARS
        }
        # The end of a document is often a line or two; a document of no more is drawn as it is.
        least = min(_SHORT_WINDOW_CHARS, max(sizes.values(), default=0))
        hand = [index for index, size in sizes.items() if size >= max(least, MIN_WINDOW_CHARS)]
        shuffler.shuffle(hand)
        if hand:
            hands.append(hand)
    shuffler.shuffle(hands)
    rounds = max(map(len, hands), default=0)
    return [hand[index] for index in range(rounds) for hand in hands if index < len(hand)]
