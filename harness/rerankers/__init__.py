"""Rerankers: each puts hits in a better order. Add one by adding a file here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from harness.errors import ModelError
from harness.records import Hit
from harness.registry import Registry, spec_name


class Reranker(ABC):
    """What every file in this package provides: `rerank`, and what differs from the defaults."""

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def keep(self) -> int | None:
        """How many hits stay, at most; None: all."""
        return None

    def check(self) -> None:
        """Raise what would stop every question: a library or a model that is missing."""
        return  # Nothing, for most.

    @abstractmethod
    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits in a new order, or the first of them; scores never rise.

        Hits to which it gives the same score go by chunk number.

        Raises:
            StageError: it gave up on this question.
        """


class _Held(Reranker):
    """Checks the rankings that a reranker from outside the package gives."""

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits; raise `ModelError` for what is no order of them."""
        ranked = super().rerank(question, hits)  # type: ignore[safe-super]
        numbers = [hit.chunk.index for hit in ranked]
        known = {hit.chunk.index for hit in hits}.issuperset(numbers)
        rises = any(before.score < hit.score for before, hit in pairwise(ranked))
        if not known or rises or len(set(numbers)) < len(numbers):
            raise ModelError(
                f"reranker {spec_name(self)!r} gave no order of the {len(hits)} hits it was given"
                "\n  it promises some of these hits, none twice, with scores that never rise"
            )
        return ranked


rerankers: Registry[Reranker] = Registry("reranker", __name__, Reranker, held=_Held)


def order_hits(hits: Sequence[Hit], scores: Sequence[float], keep: int | None) -> list[Hit]:
    """Return the `keep` hits with the highest of new `scores`, ties by chunk number."""
    rescored = [Hit(hit.chunk, score) for hit, score in zip(hits, scores, strict=True)]
    return sorted(rescored, key=lambda hit: (-hit.score, hit.chunk.index))[:keep]
