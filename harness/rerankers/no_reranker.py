"""None: the retriever's order stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.records import Hit
from harness.rerankers import Reranker, rerankers


@rerankers.register
@dataclass(frozen=True)
class NoReranker(Reranker):
    """Leaves the hits as the retriever ranked them."""

    name: ClassVar[str] = "none"
    version: ClassVar[int] = 1

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits unchanged."""
        return list(hits)
