"""Semantic similarity: do answer and reference mean the same, taken whole?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.embedders import embedders
from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.needs import Kind, Need, ScoringContext
from harness.metrics.references import EMPTY_ANSWER, check_applicable, references
from harness.models.model_files import DEFAULT_MODEL
from harness.protocols import Embedder
from harness.records import Case, Score


@metrics.register
@dataclass(frozen=True)
class SemanticSimilarity:
    """Cosine of the vectors of answer and closest reference, cut to [0, 1]; empty answer 0.

    The raw cosine is kept as the reason. From 0 to 1. Source: Reimers & Gurevych, "Sentence-BERT",
    2019.
    """

    model: str = DEFAULT_MODEL

    name: ClassVar[str] = "semantic_similarity"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})
    perfect: ClassVar[bool] = True
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
        family="graded",
        order="not order-aware but as the model is",
    )

    def score_all(self, cases: Sequence[Case], context: ScoringContext) -> list[Score]:
        """Score each case, embedding every text once."""
        decided = [check_applicable(case) or _score_empty(case) for case in cases]
        applicable = [case for case, score in zip(cases, decided, strict=True) if score is None]
        texts = list(dict.fromkeys(text for case in applicable for text in _texts(case)))
        vectors = dict(zip(texts, self._embedder().embed(texts, "document"), strict=True))
        scores = iter(
            [
                _score_cosine(
                    max(
                        float(vectors[answer] @ vectors[reference]) for reference in reference_texts
                    )
                )
                for answer, *reference_texts in map(_texts, applicable)
            ]
        )
        return [score or next(scores) for score in decided]

    def identity(self) -> dict[str, Any]:
        """Return the embedder's identity."""
        return self._embedder().identity()

    def _embedder(self) -> Embedder:
        return embedders.build({"sentence_transformer": {"model": self.model}})


def _texts(case: Case) -> list[str]:
    assert case.answer is not None
    return [case.answer.text, *references(case)]


def _score_empty(case: Case) -> Score | None:
    return None if case.answer and case.answer.text.strip() else EMPTY_ANSWER


def _score_cosine(cosine: float) -> Score:
    return Score(min(max(cosine, 0.0), 1.0), f"cosine {cosine:.6f}")
