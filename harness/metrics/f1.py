"""F1: precision and recall in one number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True, kw_only=True)
class F1(JudgedRankingMetric):
    """Harmonic mean of precision@k (divided by k) and recall@k; 0 when both are 0.

    From 0 to 1. Source: van Rijsbergen, "Information Retrieval", 1979.
    """

    k: Annotated[int, Gt(0)] = field()  # without it, the base class's default would stand

    name: ClassVar[str] = "f1"
    perfect: ClassVar[bool] = False
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × P × R / (P + R), P = precision@k, R = recall@k",
        example=Example(
            "Relevant at ranks 1, 2 and 3 of 5, four in all: P = 3 / 5 = 0.6, R = 3 / 4 = 0.75, "
            "and 2 × 0.6 × 0.75 / (0.6 + 0.75) = 0.6667.",
            "f1@5",
            [ranking_case(1, 1, 1, 0, 0, inventory=[1, 1, 1, 1])],
            0.6667,
        ),
        use="to balance what is shown against what is missed",
        blind="order",
        family="binary",
        higher_k="may raise or lower it: more is found, and more is shown",
    )

    def measure(self, relevant: RelevantRanks) -> float:
        """Return 2 found / (k + inventory), which the harmonic mean comes to."""
        return 2 * len(relevant.ranks) / (self.k + relevant.inventory)
