"""MMR: hits that are near the question and unlike one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from numpy.typing import NDArray

from harness.protocols import Vectors
from harness.records import Hit
from harness.retrievers import CompositeRetriever, Part, SearchContext, retrievers


@retrievers.register
@dataclass(frozen=True)
class Mmr(CompositeRetriever):
    """Picks one by one, of the first `fetch` hits of `of`, what is near the question and new.

    Maximal marginal relevance: the next hit has the highest weight * cosine(question, chunk)
    - (1 - weight) * the highest cosine(chunk, chosen), which is also its score. For the first that
    highest cosine is the lowest there is, -1, so that scores never rise. Ties go by the order of
    `of`. Source: Carbonell & Goldstein, "The Use of MMR, Diversity-Based Reranking", 1998.
    """

    of: Part = "dense"
    fetch: Annotated[int, Gt(0)] = 50
    weight: Annotated[float, Ge(0), Le(1)] = 0.5

    name: ClassVar[str] = "mmr"
    version: ClassVar[int] = 1
    uses_vectors: ClassVar[bool] = True

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the chosen hits of each question, in the order they were chosen in."""
        (part,) = self.parts()
        rankings = part.retrieve(questions, index, max(k, self.fetch))
        vectors = index.embed_questions(questions)
        return [
            self._chosen(ranking, vector, index.vectors([hit.chunk.index for hit in ranking]), k)
            for ranking, vector in zip(rankings, vectors, strict=True)
        ]

    def _chosen(
        self, hits: Sequence[Hit], question: NDArray[np.float32], vectors: Vectors, k: int
    ) -> list[Hit]:
        similarity = _cosines(vectors, question)
        redundancy = np.full(len(hits), -1.0)  # the highest cosine with any that was chosen
        is_left = np.ones(len(hits), dtype=np.bool_)
        chosen: list[Hit] = []
        while is_left.any() and len(chosen) < k:
            scores = self.weight * similarity - (1 - self.weight) * redundancy
            best = int(np.argmax(np.where(is_left, scores, -np.inf)))
            chosen.append(Hit(hits[best].chunk, float(scores[best])))
            is_left[best] = False
            redundancy = np.maximum(redundancy, _cosines(vectors, vectors[best]))
        return chosen


def _cosines(vectors: Vectors, other: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return each row's cosine with `other`, which no other row has a part in; 0 for a zero."""
    rows, one = vectors.astype(np.float64), other.astype(np.float64)
    lengths = np.sqrt((rows * rows).sum(axis=1)) * np.sqrt((one * one).sum())
    products: NDArray[np.float64] = (rows * one).sum(axis=1)
    # What rounding adds must not pass -1, from which the first score is counted.
    return np.clip(products / np.where(lengths > 0, lengths, 1.0), -1, 1)
