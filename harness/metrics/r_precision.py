"""R-precision: precision where it and recall meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True)
class RPrecision(JudgedRankingMetric):
    """Relevant items among the first R, divided by R, the number of relevant items there are.

    From 0 to 1. Source: trec_eval `Rprec`.
    """

    k: None = field(default=None, init=False)

    name: ClassVar[str] = "r_precision"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="relevant among the first R / R, R = all relevant",
        example=Example(
            "Grades 0, 1, 2, 1, 0: R = 3, and two of the first three are relevant: 2 / 3 = 0.6667.",
            "r_precision",
            [ranking_case(0, 1, 2, 1, 0)],
            0.6667,
        ),
        use="when questions differ in how much is relevant to them",
        blind="order within the first R",
        family="binary",
        order="order-aware only through the cut",
    )

    def measure(self, relevant: RelevantRanks) -> float:
        """Return the share of relevant items in the first R."""
        return sum([rank <= relevant.inventory for rank in relevant.ranks]) / relevant.inventory
