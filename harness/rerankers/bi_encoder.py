"""Bi-encoder: the vectors of another embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt
from numpy.typing import NDArray

from harness import fingerprint
from harness.embedders import Name, embedders
from harness.protocols import Embedder, TextKind
from harness.records import Hit
from harness.rerankers import Reranker, order_hits, rerankers

_MAX_CACHED_VECTORS = 50_000


@rerankers.register
@dataclass(frozen=True)
class BiEncoder(Reranker):
    """Orders hits by the cosine of question and chunk under another embedder than the index's.

    `embedder` is written as in `embedders`: `sentence_transformer(model=...)`. `keep` hits stay;
    none: all.
    """

    embedder: Name
    keep: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "bi_encoder"
    version: ClassVar[int] = 2

    def check(self) -> None:
        """Find the model."""
        self._memory().embedder.identity()

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters and the embedder's own identity."""
        return {**fingerprint.identity(self), "embedder": self._memory().embedder.identity()}

    def prepare(self, batch: Sequence[tuple[str, Sequence[Hit]]]) -> None:
        """Embed at once, which is several times as fast, all that `rerank` will ask for."""
        memory = self._memory()
        memory.vectors([question for question, _ in batch], "query")
        memory.vectors([hit.chunk.indexed_text for _, hits in batch for hit in hits], "document")

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by falling cosine, ties by chunk number."""
        if not hits:
            return []
        memory = self._memory()
        (vector,) = memory.vectors([question], "query")
        chunks = memory.vectors([hit.chunk.indexed_text for hit in hits], "document")
        # Row by row, as a product of matrices rounds by their shapes.
        wide = vector.astype(np.float64)
        scores = [float((row.astype(np.float64) * wide).sum()) for row in chunks]
        return order_hits(hits, scores, self.keep)

    def _memory(self) -> _Memory:
        return _memory(self.embedder)


class _Memory:
    """An embedder and the vectors that it made: many questions find the same chunks."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._known: dict[tuple[TextKind, str], NDArray[np.float32]] = {}

    def vectors(self, texts: Sequence[str], kind: TextKind) -> list[NDArray[np.float32]]:
        """Return the vector of each text."""
        keys = dict.fromkeys((kind, text) for text in texts)
        new = [key for key in keys if key not in self._known]
        if len(self._known) + len(new) > _MAX_CACHED_VECTORS:
            self._known.clear()
            new = list(keys)
        if new:
            embedded = self.embedder.embed([text for _, text in new], kind)
            self._known |= zip(new, embedded, strict=True)
        return [self._known[kind, text] for text in texts]


@lru_cache(maxsize=2)
def _memory(embedder: str) -> _Memory:
    return _Memory(embedders.build(embedder))
