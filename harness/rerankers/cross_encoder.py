"""Cross-encoder: a model that reads question and chunk together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt

from harness import fingerprint
from harness.models.model_files import weights_id
from harness.models.runtime import pair_models, processor
from harness.records import Hit
from harness.rerankers import Reranker, order_hits, rerankers


@rerankers.register
@dataclass(frozen=True)
class CrossEncoder(Reranker):
    """Orders hits by a sentence-transformers cross-encoder, by folder or hub name.

    The score is the model's number before any sigmoid, in float32 on the processor, and the same
    whatever else is scored; on a graphics card, which is used where torch can, it is computed in
    bfloat16, and its last digits depend on what else is. Of a pair longer than the model reads, or
    `max_length` tokens, the end is cut. `keep` hits stay; none: all.
    """

    model: str
    max_length: Annotated[int, Ge(8)] | None = None
    keep: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "cross_encoder"
    version: ClassVar[int] = 2

    def check(self) -> None:
        """Load the model."""
        pair_models.load(self.model, self.max_length)

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters, the hash of the model's files, and a card in use."""
        settings = {**fingerprint.identity(self), "weights": weights_id(self.model)}
        return {**settings, **processor.device_identity()}

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by falling score, ties by chunk number."""
        if not hits:
            return []
        pairs = [(question, hit.chunk.indexed_text) for hit in hits]
        scores = pair_models.scores(pair_models.load(self.model, self.max_length), pairs)
        return order_hits(hits, scores, self.keep)
