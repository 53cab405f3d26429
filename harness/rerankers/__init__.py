"""Rerankers: each puts hits in a better order. Add one by adding a file here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from harness.records import Hit
from harness.registry import Registry


class Reranker(Protocol):
    """What every file in this package provides."""

    name: ClassVar[str]
    version: ClassVar[int]

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits in a new order, or the first of them; scores never rise."""
        ...


rerankers: Registry[Reranker] = Registry("reranker", __name__)
