"""Bpref: how often something judged irrelevant stands above something relevant?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.judged_ranking import JudgedRankingMetric, RelevantRanks
from harness.records import Judged, Score


@metrics.register
@dataclass(frozen=True)
class Bpref(JudgedRankingMetric):
    """Mean over the relevant items of 1 - (irrelevant ones above it, at most R) / min(R, N).

    R and N count what is judged relevant and irrelevant; an item not retrieved adds 0. Unjudged
    items and those judged below 0 are ignored. 1: no judged irrelevant item stands above a relevant
    one. 0: all do, or nothing was found. From 0 to 1. Source: trec_eval `bpref`; Buckley &
    Voorhees, "Retrieval Evaluation with Incomplete Information", 2004.
    """

    k: None = field(default=None, init=False)

    name: ClassVar[str] = "bpref"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="Σ (1 − min(irrelevant above, R) / min(R, N)) / R, over the relevant retrieved",
        example=Example(
            "Grades 0, 1, 2, 1, 0: R = 3 and N = 2, and each relevant item has one irrelevant one "
            "above it: ((1 − 1/2) + (1 − 1/2) + (1 − 1/2)) / 3 = 0.5.",
            "bpref",
            [ranking_case(0, 1, 2, 1, 0)],
            0.5,
        ),
        use="when judgements are incomplete",
        blind="how good the unjudged ones are",
        family="binary",
        order="order-aware",
    )

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking; 0 where nothing is relevant."""
        level = self.rel or 1
        inventory = judged.inventory or ()
        relevant = sum(grade >= level for grade in inventory)
        irrelevant = judged.irrelevant + sum(grade < level for grade in inventory)
        if not relevant:
            return Score(0.0, "nothing is relevant")
        bound = min(relevant, irrelevant)
        above, total = 0, 0.0
        for grade in judged.grades:
            if grade is None or grade < 0:
                continue
            if grade < level:
                above += 1
            else:
                total += 1 - (min(above, relevant) / bound if above else 0.0)
        return Score(total / relevant)

    def measure(self, relevant: RelevantRanks) -> float:
        """Never asked: `judge` needs to know more than which items are relevant."""
        raise AssertionError("bpref is computed from grades")
