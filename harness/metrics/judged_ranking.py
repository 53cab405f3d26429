"""Base class of metrics over a judged ranking: labels, level of relevance and cut-off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Gt

from harness.metrics.needs import Need, QualityMetric
from harness.records import Case, Judged, Label, Score, not_scored


@dataclass(slots=True)
class RelevantRanks:
    """What is relevant to one question: the `ranks` of what the top k hold of it, from 1 up.

    `inventory` is how many relevant items there are, `top_size` how many items the top k hold.
    """

    ranks: Sequence[int]
    inventory: int
    top_size: int


class RankingMetric(QualityMetric, ABC):
    """A metric over a judged ranking, de-duplicated first; `labels` says by which label."""

    labels: Label | None

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking"})
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

    @abstractmethod
    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking."""


@dataclass(frozen=True)
class JudgedRankingMetric(RankingMetric):
    """A metric over the ranks of what is relevant in the first `k`.

    `labels` and `rel`, the least relevant grade, are the run's where they are not given. Without
    `k` the whole ranking counts, which is cut at what the run retrieves.
    """

    k: Annotated[int, Gt(0)] | None = None
    labels: Label | None = None
    rel: Annotated[int, Ge(1)] | None = None

    def judge(self, judged: Judged) -> Score:
        """Score one judged ranking; 0 where nothing at all is relevant, as trec_eval does."""
        relevant = self._relevant_ranks(judged)
        if self.uses_inventory and relevant.inventory == 0:
            return Score(0.0, "nothing is relevant")
        return Score(self.measure(relevant))

    def reason(self, judged: Judged) -> str:
        """Return in words what the value of a judged ranking follows from."""
        relevant = self._relevant_ranks(judged)
        where = "none" if not relevant.ranks else f"at rank {', '.join(map(str, relevant.ranks))}"
        text = f"relevant of the first {relevant.top_size}: {where}"
        return f"{text}; {relevant.inventory} in all" if self.uses_inventory else text

    def _relevant_ranks(self, judged: Judged) -> RelevantRanks:
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
        return RelevantRanks(ranks, inventory, min(cut, retrieved))

    @abstractmethod
    def measure(self, relevant: RelevantRanks) -> float:
        """Return the value, given which ranks of the top k are relevant and how many there are."""
