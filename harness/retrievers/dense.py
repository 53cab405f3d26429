"""Dense: nearest neighbours of the question's vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.records import Hit
from harness.retrievers import Retriever, SearchContext, retrievers


@retrievers.register
@dataclass(frozen=True)
class Dense(Retriever):
    """The chunks whose vectors are nearest to the question's, by the index's distance."""

    name: ClassVar[str] = "dense"
    version: ClassVar[int] = 1

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the nearest chunks, best first."""
        rankings = index.nearest(index.embed_questions(questions), k)
        return [
            [Hit(index.chunks[near.chunk], near.score) for near in ranking] for ranking in rankings
        ]
