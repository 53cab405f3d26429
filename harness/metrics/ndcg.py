"""nDCG: graded relevance, discounted by rank (DCG), against the best ranking there could be."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Annotated, ClassVar, Literal

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import RankingMetric
from harness.records import Judged, Label, Score

Gain = Literal["linear", "exponential"]
"""What a grade is worth: itself, as trec_eval has it, or 2^grade - 1."""


def dcg(graded: Iterable[tuple[int, int]], gain: Gain = "linear") -> float:
    """Return the sum of gain / log2(rank + 1) over (rank, grade) pairs; ranks count from 1.

    Source: Järvelin & Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.
    """
    if gain == "linear":
        return sum([grade / log2(rank + 1) for rank, grade in graded])
    return sum([(2.0**grade - 1) / log2(rank + 1) for rank, grade in graded])


@lru_cache(maxsize=1024)
def ideal_dcg(grades: tuple[int, ...], k: int | None, gain: Gain = "linear") -> float:
    """Return the DCG of the best order of `grades`, highest first, cut at `k`."""
    return dcg(enumerate(grades[:k], start=1), gain)


@metrics.register
@dataclass(frozen=True)
class Ndcg(RankingMetric):
    """DCG of the top k / DCG of the best order of everything relevant; 0 if nothing is.

    `gain` is the grade itself, or 2^grade - 1 with `exponential`. All positive grades count,
    whatever the level of relevance. `ideal: retrieved` compares with the best order of what the top
    k holds, which hides what was missed. 1: the best possible order. 0: nothing relevant. 0.5:
    items are missing or stand too low. From 0 to 1. Source: trec_eval `ndcg_cut_k`; Järvelin &
    Kekäläinen, "Cumulated gain-based evaluation of IR techniques", 2002.
    """

    k: Annotated[int, Gt(0)] | None = None
    gain: Gain = "linear"
    ideal: Literal["inventory", "retrieved"] = "inventory"
    labels: Label | None = None

    name: ClassVar[str] = "ndcg"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="DCG / ideal DCG, DCG = Σ gain / log₂(rank + 1)",
        example=Example(
            "Grades 1, 3, 0, 0, of all relevant items 3 and 1: DCG "
            "1 / log₂(2) + 3 / log₂(3) = 2.8928, ideal 3 / log₂(2) + 1 / log₂(3) = 3.6309, and "
            "2.8928 / 3.6309 = 0.7967.",
            "ndcg@4",
            [ranking_case(1, 3, 0, 0)],
            0.7967,
        ),
        use="when the order matters",
        blind="which item cost how much",
        order="order-aware",
        higher_k="reads further down, and may raise or lower it: the ideal grows too",
    )

    @property
    def uses_inventory(self) -> bool:  # type: ignore[override]  # here it is the option's to say
        """Whether it needs to know every relevant item there is."""
        return self.ideal == "inventory"

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking."""
        top_size = len(judged.graded) if self.k is None else bisect_right(judged.ranks, self.k)
        top = judged.graded[:top_size]
        pool = judged.inventory or ()
        if self.ideal == "retrieved":
            pool = tuple(sorted([grade for _, grade in top], reverse=True))
        best = ideal_dcg(pool, self.k, self.gain)
        if best == 0.0:
            return Score(0.0, "nothing is relevant")
        gain = dcg(top, self.gain)
        return Score(gain / best, f"DCG {gain:.6f} / ideal {best:.6f}")
