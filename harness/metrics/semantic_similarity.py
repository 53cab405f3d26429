"""Semantic similarity: do answer and reference mean the same, taken whole?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.embedders import embedders
from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.references import AnswerPair, BatchReferenceMetric, note_unread
from harness.models.model_files import DEFAULT_MODEL
from harness.protocols import Embedder
from harness.records import Score


@metrics.register
@dataclass(frozen=True)
class SemanticSimilarity(BatchReferenceMetric):
    """Cosine of the vectors of answer and closest reference, cut to [0, 1]; empty answer 0.

    The raw cosine is kept as the reason. 1: the same meaning to the model. 0: unrelated. 0.8:
    close, or one word apart. From 0 to 1. Source: Reimers & Gurevych, "Sentence-BERT", 2019.
    """

    model: str = DEFAULT_MODEL

    name: ClassVar[str] = "semantic_similarity"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="max(0, cosine of the vectors of the answer and the closest reference)",
        example=Example(
            "“The Moon has no air.” against “The Moon has air.”: about 0.81 by the default model, "
            "though one denies the other.",
            "semantic_similarity",
            [answer_case("The Moon has no air.", "The Moon has air.")],
            0.81,
            within=0.01,
        ),
        use="where wording may differ freely",
        blind="negation or a wrong figure; any two texts on one subject score far above 0",
        order="not order-aware but as the model is",
    )

    def compare_all(self, pairs: Sequence[AnswerPair]) -> list[Score]:
        """Score each answer, embedding every text once."""
        texts = list(dict.fromkeys(text for answer, refs in pairs for text in (answer, *refs)))
        embedder = self._embedder()
        vectors = dict(zip(texts, embedder.embed(texts, "document"), strict=True))
        cut = dict(zip(texts, embedder.truncated(texts), strict=True))
        scores = []
        for answer, references in pairs:
            cosine = max(float(vectors[answer] @ vectors[text]) for text in references)
            score = Score(min(max(cosine, 0.0), 1.0), f"cosine {cosine:.6f}")
            scores.append(note_unread(score, [cut[text] for text in (answer, *references)]))
        return scores

    def identity(self) -> dict[str, Any]:
        """Return the embedder's identity."""
        return self._embedder().identity()

    def _embedder(self) -> Embedder:
        # A metric's value is that of the library, to the fifth digit; bfloat16 has three.
        spec = {"model": self.model, "precision": "float32"}
        return embedders.build({"sentence_transformer": spec})
