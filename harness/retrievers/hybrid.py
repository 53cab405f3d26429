"""Hybrid: several rankings made into one, by ranks or by scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Gt, Len

from harness.ranking import fusion
from harness.records import Hit
from harness.retrievers import CompositeRetriever, Part, SearchContext, retrievers


@retrievers.register
@dataclass(frozen=True)
class Hybrid(CompositeRetriever):
    """Fuses the rankings of `of`, each `depth` deep; ties by chunk number.

    `fuse: ranks` sums weight / (c + rank): reciprocal-rank fusion (Cormack et al., 2009, with
    c = 60). `fuse: scores` sums weight * score, where the scores of each ranking of a question are
    first brought to [0, 1] by the lowest and highest among them: relative score fusion (Lee, 1997).
    `weights` has one for each of `of`; without it all count the same.
    """

    of: Annotated[tuple[Part, ...], Len(2)] = ("dense", "bm25")
    c: Annotated[float, Ge(0)] = 60
    depth: Annotated[int, Gt(0)] = 100
    fuse: Literal["ranks", "scores"] = "ranks"
    weights: tuple[Annotated[float, Ge(0)], ...] | None = None

    name: ClassVar[str] = "hybrid"
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if any(part.name == self.name for part in self.parts()):
            raise ValueError("of: a hybrid cannot be part of itself")
        if self.weights is not None and len(self.weights) != len(self.of):
            raise ValueError(f"weights: {len(self.of)} are needed, not {len(self.weights)}")
        if self.weights is not None and not 0 < sum(self.weights) < float("inf"):
            raise ValueError("weights: one of them must be above 0, and all be finite")

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the fused ranking of each question."""
        depth = max(k, self.depth)
        parts = [part.retrieve(questions, index, depth) for part in self.parts()]
        return [self._fused(rankings)[:k] for rankings in zip(*parts, strict=True)]

    def _fused(self, rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
        if self.fuse == "scores":
            return fusion.by_score(rankings, self.weights)
        return fusion.by_rank(rankings, self.c, self.weights)
