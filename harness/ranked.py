"""What all metrics over a judged ranking share: which labels, which level, which part of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.needs import Kind, Need
from harness.records import Case, Judged, Label, Score, not_scored


@dataclass(frozen=True)
class Ranked(ABC):
    """A metric over a judged ranking, de-duplicated first and cut at `k` second.

    `labels` and `rel`, the least relevant grade, are the run's where they are not given. Without
    `k` the whole ranking counts, which is cut at what the run retrieves.
    """

    k: Annotated[int, Gt(0)] | None = None
    labels: Label | None = None
    rel: Annotated[int, Ge(1)] | None = None

    name: ClassVar[str]
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking"})
    perfect: ClassVar[bool] = True
    uses_inventory: ClassVar[bool] = True
    """Whether it needs to know every relevant item there is, retrieved or not."""

    def score(self, case: Case) -> Score:
        """Score the ranking of one case; None where its question has no label of this kind."""
        kind = self.labels or "documents"
        judged = case.judged.get(kind)
        if judged is None:
            return not_scored(f"the question has no {kind} label")
        if judged.inventory is None and self.uses_inventory:
            return not_scored("how many relevant items there are is not known")
        return self.judge(judged)

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking; 0 where nothing at all is relevant, as trec_eval does."""
        level = self.rel or 1
        hits = [grade is not None and grade >= level for grade in judged.grades]
        inventory = sum(1 for grade in judged.inventory or () if grade >= level)
        if self.uses_inventory and inventory == 0:
            return Score(0.0, "nothing is relevant")
        return Score(self.measure(hits[: self.k], inventory))

    @abstractmethod
    def measure(self, hits: Sequence[bool], inventory: int) -> float:
        """Return the value, given which of the top k are relevant and how many there are."""
