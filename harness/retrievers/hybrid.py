"""Hybrid: several rankings made into one by reciprocal-rank fusion."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt, Len

from harness import fingerprint
from harness.records import Chunk, Hit
from harness.retrievers import Searchable, retrievers


@retrievers.register
@dataclass(frozen=True)
class Hybrid:
    """Sums 1 / (c + rank) over the rankings of `of`, each `depth` deep; ties by chunk number.

    Source: Cormack et al., "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank
    Learning Methods", 2009 (c = 60).
    """

    of: Annotated[tuple[str, ...], Len(2)] = ("dense", "bm25")
    c: Annotated[float, Ge(0)] = 60
    depth: Annotated[int, Gt(0)] = 100

    name: ClassVar[str] = "hybrid"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name in self.of:
            if retrievers.build(name).name == self.name:
                raise ValueError("of: a hybrid cannot be part of itself")

    def identity(self) -> dict[str, Any]:
        """Return name, version and parameters, and those of its parts."""
        parts = [fingerprint.identity_of(retrievers.build(name)) for name in self.of]
        return {**fingerprint.identity(self), "of": parts}

    @property
    def uses_vectors(self) -> bool:
        """Whether any of its parts does."""
        return any(retrievers.build(name).uses_vectors for name in self.of)

    def retrieve(self, questions: Sequence[str], index: Searchable, k: int) -> list[list[Hit]]:
        """Return the fused ranking of each question."""
        depth = max(k, self.depth)
        parts = [retrievers.build(name).retrieve(questions, index, depth) for name in self.of]
        return [self._fuse(rankings)[:k] for rankings in zip(*parts, strict=True)]

    def _fuse(self, rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
        scores: dict[int, float] = defaultdict(float)
        chunks: dict[int, Chunk] = {}
        for ranking in rankings:
            for rank, hit in enumerate(ranking, start=1):
                chunks[hit.chunk.index] = hit.chunk
                scores[hit.chunk.index] += 1 / (self.c + rank)
        order = sorted(scores, key=lambda index: (-scores[index], index))
        return [Hit(chunks[index], scores[index]) for index in order]
