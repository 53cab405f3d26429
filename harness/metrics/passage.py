"""Passages: which of the question's passages arrived whole?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt, Le

from harness.coverage import Cutoff, groups, whole_groups
from harness.metrics import metrics
from harness.needs import Kind, Need
from harness.records import Case, Score, Span, not_scored


@dataclass(frozen=True)
class _Passages(Cutoff):
    """A group is whole when 95 % of the visible characters of one of its passages are there.

    `whole` is that share. The chunks that hold them may be several.
    """

    whole: Annotated[float, Gt(0), Le(1)] = 0.95

    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "evidence"})
    perfect: ClassVar[bool] = True

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        read, note = self.read(case.hits)
        value, reason = self.measure(case, read)
        return Score(value, note or reason)

    def measure(self, case: Case, read: list[Span]) -> tuple[float, str]:
        """Return the value and what it comes from."""
        found, wanted = whole_groups(case, read, self.whole), len(groups(case))
        return found / wanted, f"{found} of {wanted} passages whole"


@metrics.register
@dataclass(frozen=True)
class PassageRecall(_Passages):
    """Share of the groups of passages of which one is whole in the top k.

    Use it to compare chunkers: a passage cut in two and half found is not found. It cannot see what
    else was retrieved. From 0 to 1, binary, not order-aware. Source: this harness.
    """

    name: ClassVar[str] = "passage_recall"


@metrics.register
@dataclass(frozen=True)
class PassageHitRate(_Passages):
    """1 if any group has a whole passage in the top k, else 0.

    Use it when one good passage is enough. It cannot see how many arrived. 0 or 1 a question,
    binary, not order-aware. Source: this harness.
    """

    name: ClassVar[str] = "passage_hit_rate"

    def measure(self, case: Case, read: list[Span]) -> tuple[float, str]:
        """Return 1 or 0."""
        share, reason = super().measure(case, read)
        return float(share > 0), reason


@metrics.register
@dataclass(frozen=True)
class PassageMrr(_Passages):
    """1 / the rank at which the first group becomes whole, 0 if none does.

    Use it when one good passage is wanted early. It cannot see anything after it. From 0 to 1,
    binary, order-aware. Source: this harness.
    """

    name: ClassVar[str] = "passage_mrr"

    def measure(self, case: Case, read: list[Span]) -> tuple[float, str]:
        """Return the reciprocal rank."""
        for rank in range(1, len(read) + 1):
            if whole_groups(case, read[:rank], self.whole):
                return 1 / rank, f"whole at rank {rank}"
        return 0.0, "never whole"
