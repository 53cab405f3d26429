"""Cross-encoder: a model that reads question and chunk together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Gt

from harness import fingerprint
from harness.models.model_files import weights_id
from harness.models.runtime import processor
from harness.records import Hit
from harness.rerankers import Reranker, order_hits, rerankers

Pair = tuple[str, str]
"""A question and a chunk's text."""


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
        _memory(self.model, self.max_length).model()

    def identity(self) -> dict[str, Any]:
        """Return name, version, parameters, the hash of the model's files, and a card in use."""
        settings = {**fingerprint.identity(self), "weights": weights_id(self.model)}
        return {**settings, **processor.device_identity()}

    def prepare(self, batch: Sequence[tuple[str, Sequence[Hit]]]) -> None:
        """Score at once, where there is a card to be filled, all that `rerank` will ask for."""
        if processor.device() != "cpu":
            pairs = [(question, hit.chunk.indexed_text) for question, hits in batch for hit in hits]
            _memory(self.model, self.max_length).hold(pairs)

    def rerank(self, question: str, hits: Sequence[Hit]) -> list[Hit]:
        """Return the hits by falling score, ties by chunk number."""
        if not hits:
            return []
        pairs = [(question, hit.chunk.indexed_text) for hit in hits]
        return order_hits(hits, _memory(self.model, self.max_length).scores(pairs), self.keep)


class _Memory:
    """A model and the scores of the last pairs that were prepared."""

    def __init__(self, model: str, max_length: int | None) -> None:
        self._named = model, max_length
        self._known: dict[Pair, float] = {}

    def model(self) -> Any:
        from harness.models.runtime import pair_models

        return pair_models.load(*self._named)

    def hold(self, pairs: Sequence[Pair]) -> None:
        """Score pairs that will be asked for, and forget those before."""
        self._known.clear()
        different = list(dict.fromkeys(pairs))
        self._known = dict(zip(different, self._made(different), strict=True))

    def scores(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each pair."""
        cached = self._known
        new = [pair for pair in dict.fromkeys(pairs) if pair not in cached]
        new_scores = dict(zip(new, self._made(new), strict=True))
        return [new_scores[pair] if pair in new_scores else cached[pair] for pair in pairs]

    def _made(self, pairs: Sequence[Pair]) -> list[float]:
        from harness.models.runtime import pair_models

        return pair_models.scores(self.model(), pairs)


@lru_cache(maxsize=2)
def _memory(model: str, max_length: int | None) -> _Memory:
    return _Memory(model, max_length)
