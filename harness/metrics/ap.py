"""AP: precision, averaged over the places where relevant items stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks


@metrics.register
@dataclass(frozen=True, kw_only=True)
class Ap(JudgedRankingMetric):
    """Sum of precision@i over the relevant ranks i up to k, divided by all relevant items.

    Its mean is MAP. `denominator: retrieved` divides by the relevant items found, which hides what
    was missed. 0: nothing relevant was found. 1: all of it stands first. 0.5: half is missing, or
    stands low. From 0 to 1. Source: trec_eval `map`, `map_cut_k`.
    """

    denominator: Literal["inventory", "retrieved"] = "inventory"

    name: ClassVar[str] = "ap"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="Σ precision@i over the relevant ranks i ≤ k / all relevant",
        example=Example(
            "Relevant at ranks 1 and 4, three in all: (1/1 + 2/4) / 3 = 0.5. With only those two "
            "there would be (1/1 + 2/4) / 2 = 0.75.",
            "ap@4",
            [ranking_case(1, 0, 0, 1, inventory=[1, 1, 1])],
            0.5,
        ),
        use="when several relevant items matter and so does their order",
        blind="grades",
        family="binary",
        order="order-aware",
        higher_k="never lowers it: relevant items further down are added, each for less; the list "
        "is longer to read",
    )

    @property
    def uses_inventory(self) -> bool:  # type: ignore[override]  # here it is the option's to say
        """Whether it needs to know every relevant item there is."""
        return self.denominator == "inventory"

    def measure(self, relevant: RelevantRanks) -> float:
        """Return the average precision."""
        total = sum([count / rank for count, rank in enumerate(relevant.ranks, start=1)])
        divisor = relevant.inventory if self.denominator == "inventory" else len(relevant.ranks)
        return total / divisor if divisor else 0.0
