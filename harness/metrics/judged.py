"""Judged: how much of what was retrieved did anyone judge?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.needs import Kind, Need
from harness.records import Case, Judged, Label, Score, not_scored


@metrics.register
@dataclass(frozen=True)
class JudgedShare:
    """Share of the top k documents that somebody judged, whatever the grade.

    Divided by the smaller of k and what was retrieved. Use it beside other metrics of judged
    documents: where it is low, precision, hit rate and MRR are lower bounds, and the other metrics
    may be too high or too low. It cannot see whether what was judged is relevant. Under other
    labels than documents every chunk is judged by rule. From 0 to 1, binary, not order-aware.
    Source: Lu et al., "The effect of pooling and evaluation depth on IR metrics", 2016.
    """

    k: Annotated[int, Gt(0)]

    name: ClassVar[str] = "judged"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "descriptive"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "documents"})
    perfect: ClassVar[bool] = True
    labels: ClassVar[Label] = "documents"

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
        known = sum(grade is not None for grade in top)
        return Score(known / len(top), f"{known} of {len(top)} judged")
