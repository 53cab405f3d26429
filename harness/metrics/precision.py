"""Precision, recall, F1: how many of the top k are relevant, and how many are missing?"""

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

    `denominator: retrieved` divides by the smaller of k and what was retrieved. 1: all k are
    relevant. 0: none. 0.2 of 5: one is. From 0 to 1. Source: trec_eval `P_k`.
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


@metrics.register
@dataclass(frozen=True, kw_only=True)
class Recall(JudgedRankingMetric):
    """Relevant items in the top k, divided by all relevant items there are.

    1: all of it was found. 0: none. 0.5: half is missing. From 0 to 1. Source: trec_eval
    `recall_k`.
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


@metrics.register
@dataclass(frozen=True, kw_only=True)
class F1(JudgedRankingMetric):
    """Harmonic mean of precision@k (divided by k) and recall@k; 0 when both are 0.

    1: exactly the relevant items were retrieved. 0: none. It is near the lower of the two. From 0
    to 1. Source: van Rijsbergen, "Information Retrieval", 1979.
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


@metrics.register
@dataclass(frozen=True)
class RPrecision(JudgedRankingMetric):
    """Relevant items among the first R, divided by R, the number of relevant items there are.

    1: the first R are all relevant. 0: none. 0.5: half of them are. From 0 to 1. Source: trec_eval
    `Rprec`.
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
