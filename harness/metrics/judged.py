"""Judged: how much of what was retrieved did anyone judge?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, ranking_case
from harness.metrics.needs import DescriptiveMetric, Need
from harness.records import Case, Judged, Label, Score, not_scored


@metrics.register
@dataclass(frozen=True)
class JudgedShare(DescriptiveMetric):
    """Share of the top k documents that somebody judged, whatever the grade.

    Divided by the smaller of k and what was retrieved. Where it is low, precision, hit rate and MRR
    are lower bounds, and other metrics of judged documents may be too high or too low. Under other
    labels than documents every chunk is judged by rule. 1: all were judged. 0.5: of half nobody
    knows whether it is relevant. From 0 to 1. Source: Lu et al., "The effect of pooling and
    evaluation depth on IR metrics", 2016.
    """

    k: Annotated[int, Gt(0)]

    name: ClassVar[str] = "judged"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "documents"})
    labels: ClassVar[Label] = "documents"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="judged in the top k / min(k, retrieved)",
        example=Example(
            "The top 5 hold grades 2, 0, none, 1 and 0, so one document was never judged: "
            "4 / 5 = 0.8.",
            "judged@5",
            [ranking_case(2, 0, None, 1, 0)],
            0.8,
        ),
        use="beside other metrics of judged documents, to know how far to trust them",
        blind="whether what was judged is relevant",
        family="binary",
        higher_k="usually lowers it: judges seldom look far down",
    )

    def score(self, case: Case) -> Score:
        """Score one case; None where no document is judged, or none was retrieved."""
        judged = case.judged.get("documents")
        if judged is None:
            return not_scored("the question has no documents label")
        return self.judge(judged)

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking."""
        top = judged.grades[: self.k]
        if not top:
            return not_scored("nothing was retrieved")
        judged_count = sum(grade is not None for grade in top)
        return Score(judged_count / len(top), f"{judged_count} of {len(top)} judged")
