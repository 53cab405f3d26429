"""Recall: how much of what is relevant was found?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True, kw_only=True)
class Recall(JudgedRankingMetric):
    """Relevant items in the top k, divided by all relevant items there are.

    From 0 to 1. Source: trec_eval `recall_k`.
    """

    k: Annotated[int, Gt(0)] = field()  # without it, the base class's default would stand

    name: ClassVar[str] = "recall"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="relevant in the top k / all relevant",
        example=Example(
            "Relevant at ranks 1, 2 and 3 of 5, four in all: 3 / 4 = 0.75.",
            "recall@5",
            [ranking_case(1, 1, 1, 0, 0, inventory=[1, 1, 1, 1])],
            0.75,
        ),
        use="when the model needs the complete context",
        blind="what stands between the relevant items",
        family="binary",
        higher_k="never lowers it; the model has more to read, and precision usually falls",
    )

    def measure(self, relevant: RelevantRanks) -> float:
        """Return the share that was found."""
        return len(relevant.ranks) / relevant.inventory
