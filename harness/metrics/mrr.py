"""Hit rate and MRR: is a relevant item in the top k, and where is the first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True)
class HitRate(JudgedRankingMetric):
    """1 if any of the top k is relevant, else 0.

    Its mean is the share of questions with something relevant in the top k. 0 or 1 a question.
    Source: trec_eval `success_k`.
    """

    name: ClassVar[str] = "hit_rate"
    uses_inventory: ClassVar[bool] = False
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="1 if a relevant item is in the top k, else 0",
        example=Example(
            "First relevant at ranks 3, 1 and 2 over three questions, k = 2: "
            "(0 + 1 + 1) / 3 = 0.6667.",
            "hit_rate@2",
            [ranking_case(0, 0, 1), ranking_case(1), ranking_case(0, 1)],
            0.6667,
        ),
        use="when one good result is enough",
        blind="how many were found, nor their order",
        family="binary",
        order="order-aware only through the cut",
        higher_k="never lowers it; a reader has to look further for the one good result",
    )

    def measure(self, relevant: RelevantRanks) -> float:
        """Return 1 or 0."""
        return float(bool(relevant.ranks))


@metrics.register
@dataclass(frozen=True)
class Mrr(JudgedRankingMetric):
    """1 / rank of the first relevant item, 0 if none (within k); its mean is the MRR.

    1: the first item is relevant. 0.5: the second is the first that is. 0: none. From 0 to 1.
    Source: trec_eval `recip_rank`.
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
