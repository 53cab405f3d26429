"""MRR: how far down is the first relevant item?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True)
class Mrr(JudgedRankingMetric):
    """1 / rank of the first relevant item, 0 if none (within k); its mean is the MRR.

    From 0 to 1. Source: trec_eval `recip_rank`.
    """

    name: ClassVar[str] = "mrr"
    uses_inventory: ClassVar[bool] = False
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="1 / rank of the first relevant item, 0 if none in the top k",
        example=Example(
            "First relevant at ranks 3, 1 and 2 over three questions: "
            "(1/3 + 1/1 + 1/2) / 3 = 0.6111.",
            "mrr",
            [ranking_case(0, 0, 1), ranking_case(1), ranking_case(0, 1)],
            0.6111,
        ),
        use="when one good result is wanted",
        blind="anything after the first relevant item",
        family="binary",
        order="order-aware",
        higher_k="never lowers it, and adds little: a first relevant item at rank 10 counts 0.1",
    )

    def measure(self, relevant: RelevantRanks) -> float:
        """Return the reciprocal rank."""
        return 1 / relevant.ranks[0] if relevant.ranks else 0.0
