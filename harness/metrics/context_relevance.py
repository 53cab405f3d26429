"""Context relevance: does what was retrieved help to answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, overlap_case
from harness.metrics.judge import JudgeQuestion, MeanVerdictMetric
from harness.metrics.needs import Need
from harness.records import Case, Score, not_scored

_DEFAULT_HITS = 5


@metrics.register
@dataclass(frozen=True)
class ContextRelevance(MeanVerdictMetric):
    """How much each of the first k hits helps to answer, 0 to 3 by a judge model, / 3; their mean.

    The first 5 where no k is given; each is judged by itself. 1: every hit helps fully. 0: none
    helps. 0.5: hits help in part, or half of them do. From 0 to 1. Source: this harness; the idea
    is that of Saad-Falcon et al., "ARES: An Automated Evaluation Framework for Retrieval-Augmented
    Generation Systems", 2024.
    """

    k: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "context_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "judge"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="Σ verdicts on the first k hits / (3 × hits judged)",
        example=Example(
            "The judge gives three hits 3, 2 and 0 of 3: (3 + 2 + 0) / (3 × 3) = 0.5556.",
            "context_relevance@3",
            [overlap_case([], [(0, 15), (15, 24), (24, 40), (40, 60)])],
            0.5556,
            verdicts=["3", "2", "0"],
        ),
        use="where no evidence is labelled",
        blind="what was not retrieved",
        higher_k="costs one more of the judge's calls a question and hit, and lowers it where one "
        "passage is all it takes",
    )

    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return each of the first hits, to be held against the question."""
        if not case.hits:
            return not_scored("nothing was retrieved")
        chunks = [hit.chunk for hit in case.hits[: self.k or _DEFAULT_HITS]]
        return [
            self.item(
                f"{chunk.span.doc} {chunk.span.start}–{chunk.span.end}",
                question=case.question.text,
                passage=chunk.text,
            )
            for chunk in chunks
        ]
