"""Precision: how much of what is shown is relevant?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True, kw_only=True)
class Precision(JudgedRankingMetric):
    """Relevant items in the top k, divided by k, even where fewer than k were retrieved.

    `denominator: retrieved` divides by the smaller of k and what was retrieved. From 0 to 1.
    Source: trec_eval `P_k`.
    """

    k: Annotated[int, Gt(0)] = field()  # without it, the base class's default would stand
    denominator: Literal["k", "retrieved"] = "k"

    name: ClassVar[str] = "precision"
    perfect: ClassVar[bool] = False
    uses_inventory: ClassVar[bool] = False
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="relevant in the top k / k",
        example=Example(
            "Relevant at ranks 1, 2 and 3, k = 5: 3 / 5 = 0.6, and as much if no more than those "
            "three were retrieved.",
            "precision@5",
            [ranking_case(1, 1, 1, 0, 0), ranking_case(1, 1, 1)],
            0.6,
        ),
        use="when a list of fixed length is shown",
        blind="what was missed; with one relevant passage a question it cannot pass 1 / k",
        family="binary",
        higher_k="usually lowers it: the best stand first, and every place counts",
    )

    def bound(self, inventory: Sequence[int]) -> float:
        """Return min(k, relevant) / k: no ranking can do better."""
        relevant = sum(grade >= (self.rel or 1) for grade in inventory)
        if self.denominator == "retrieved":
            return float(relevant > 0)
        return min(self.k, relevant) / self.k

    def measure(self, relevant: RelevantRanks) -> float:
        """Return the share of relevant items."""
        top_size = self.k if self.denominator == "k" else relevant.top_size
        return len(relevant.ranks) / top_size if top_size else 0.0
