"""Cross-encoder: a model that reads question and chunk together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt

from harness import fingerprint
from harness.models import weights_id
from harness.records import Hit
from harness.rerankers import ordered, rerankers


@rerankers.register
@dataclass(frozen=True)
class CrossEncoder:
    """Orders hits by a sentence-transformers cross-encoder, by folder or hub name.

    The score is the model's number before any sigmoid, in float32 on the processor, and the same
    whatever else is scored. Of a pair longer than the model reads, or `max_length` tokens, the end
    is cut. `keep` hits stay; none: all.
    """

    model: str
    max_length: Annotated[int, Ge(8)] | None = None
    keep: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "cross_encoder"
    version: ClassVar[int] = 1

    def check(self) -> None:
        """Load the model."""
        self._load()

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters and the hash of the model's files."""
        return {**fingerprint.identity(self), "weights": weights_id(self.model)}

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by falling score; ties keep their order."""
        from harness.runtime import pairs

        if not hits:
            return []
        texts = [hit.chunk.indexed_text for hit in hits]
        return ordered(hits, pairs.scores(self._load(), question, texts), self.keep)

    def _load(self) -> Any:
        from harness.runtime import pairs

        return pairs.load(self.model, self.max_length)
