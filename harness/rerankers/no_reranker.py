"""None: the retriever's order stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.records import Hit
from harness.rerankers import rerankers


@rerankers.register
@dataclass(frozen=True)
class NoReranker:
    """Leaves the hits as the retriever ranked them."""

    name: ClassVar[str] = "none"
    version: ClassVar[int] = 1
    keep: ClassVar[int | None] = None

    def check(self) -> None:
        """There is nothing to check."""

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits unchanged."""
        return list(hits)
