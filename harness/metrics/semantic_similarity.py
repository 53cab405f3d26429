"""Semantic similarity: do answer and reference mean the same, taken whole?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from harness.embedders import Embedder, embedders
from harness.facts import Example, Facts, answered
from harness.metrics import metrics
from harness.models import DEFAULT_MODEL
from harness.needs import Kind, Need
from harness.records import Case, Score
from harness.references import EMPTY, inapplicable, references


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
    facts: ClassVar[Facts] = Facts(
        formula="max(0, cosine of the vectors of the answer and the closest reference)",
        example=Example(
            "“The Moon has no air.” against “The Moon has air.”: about 0.81 by the default model, "
            "though one denies the other.",
            "semantic_similarity",
            [answered("The Moon has no air.", "The Moon has air.")],
            0.81,
            within=0.01,
        ),
        use="where wording may differ freely",
        blind="negation or a wrong figure; any two texts on one subject score far above 0",
        family="graded",
        order="not order-aware but as the model is",
    )

    def score_all(self, cases: Sequence[Case]) -> list[Score]:
        """Score each case, embedding every text once."""
        refused = [inapplicable(case) or _empty(case) for case in cases]
        asked = [case for case, score in zip(cases, refused, strict=True) if score is None]
        texts = list(dict.fromkeys(text for case in asked for text in _texts(case)))
        known = dict(zip(texts, self._embedder().embed(texts, "document"), strict=True))
        scores = iter(
            [
                _score(max(float(known[said] @ known[wanted]) for wanted in rest))
                for said, *rest in map(_texts, asked)
            ]
        )
        return [score or next(scores) for score in refused]

    def identity(self) -> dict[str, Any]:
        """Return the embedder's identity."""
        return self._embedder().identity()

    def _embedder(self) -> Embedder:
        return embedders.build({"sentence_transformer": {"model": self.model}})


def _texts(case: Case) -> list[str]:
    assert case.answer is not None
    return [case.answer.text, *references(case)]


def _empty(case: Case) -> Score | None:
    return None if case.answer and case.answer.text.strip() else EMPTY


def _score(cosine: float) -> Score:
    return Score(min(max(cosine, 0.0), 1.0), f"cosine {cosine:.6f}")
