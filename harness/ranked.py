"""What all metrics over a judged ranking share: which labels, which level, which part of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.needs import Kind, Need
from harness.records import Case, Judged, Label, Score, not_scored


@dataclass(slots=True)
class Relevant:
    """What is relevant to one question: the `ranks` of what the top k hold of it, from 1 up.

    `inventory` is how many relevant items there are, `shown` how many items the top k hold.
    """

    ranks: Sequence[int]
    inventory: int
    shown: int


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
        found = self._relevant(judged)
        if self.uses_inventory and found.inventory == 0:
            return Score(0.0, "nothing is relevant")
        return Score(self.measure(found))

    def reason(self, judged: Judged) -> str:
        """Return in words what the value of a judged ranking follows from."""
        found = self._relevant(judged)
        where = "none" if not found.ranks else f"at rank {', '.join(map(str, found.ranks))}"
        said = f"relevant of the first {found.shown}: {where}"
        return f"{said}; {found.inventory} in all" if self.uses_inventory else said

    def _relevant(self, judged: Judged) -> Relevant:
        level = self.rel or 1
        retrieved = len(judged.grades)
        cut = retrieved if self.k is None else self.k
        if level == 1:
            ranks = judged.ranks[: bisect_right(judged.ranks, cut)]
            inventory = len(judged.inventory or ())
        else:
            graded = judged.graded
            ranks = tuple([rank for rank, grade in graded if grade >= level and rank <= cut])
            inventory = sum([grade >= level for grade in judged.inventory or ()])
        return Relevant(ranks, inventory, min(cut, retrieved))

    @abstractmethod
    def measure(self, found: Relevant) -> float:
        """Return the value, given which ranks of the top k are relevant and how many there are."""
