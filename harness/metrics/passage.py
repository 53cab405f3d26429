"""Passages: which of the question's passages arrived whole?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt, Le

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, overlap_case
from harness.metrics.needs import Need, QualityMetric
from harness.ranking.coverage import Cutoff, count_whole_groups, passage_groups
from harness.records import Case, Score, Span, not_scored

_EXAMPLE_CASE = overlap_case([(10, 20), (30, 34)], [(0, 15), (10, 24)])


@dataclass(frozen=True)
class _Passages(Cutoff, QualityMetric):
    """A group is whole when 95 % of the visible characters of one of its passages are there.

    `whole` is that share. The chunks that hold them may be several.
    """

    whole: Annotated[float, Gt(0), Le(1)] = 0.95

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "evidence"})

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        read, note = self.read(case.hits)
        value, reason = self.measure(case, read)
        return Score(value, note or reason)

    def measure(self, case: Case, read: list[Span]) -> tuple[float, str]:
        """Return the value and what it comes from."""
        whole_count, group_count = (
            count_whole_groups(case, read, self.whole),
            len(passage_groups(case)),
        )
        return whole_count / group_count, f"{whole_count} of {group_count} passages whole"


@metrics.register
@dataclass(frozen=True)
class PassageRecall(_Passages):
    """Share of the groups of passages of which one is whole in the top k.

    From 0 to 1. Source: this harness.
    """

    name: ClassVar[str] = "passage_recall"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="groups with a whole passage in the top k / groups",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15 and 10–24: the first passage is whole, the "
            "second is not there: 1 / 2 = 0.5.",
            "passage_recall@2",
            [_EXAMPLE_CASE],
            0.5,
        ),
        use="to compare chunkers: a passage cut in two and half found is not found",
        blind="what else was retrieved",
        family="binary",
        higher_k="never lowers it; the model has more to read",
    )


@metrics.register
@dataclass(frozen=True)
class PassageHitRate(_Passages):
    """1 if any group has a whole passage in the top k, else 0.

    0 or 1 a question. Source: this harness.
    """

    name: ClassVar[str] = "passage_hit_rate"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="1 if a group has a whole passage in the top k, else 0",
        example=Example(
            "Evidence at 10–20 and 30–34. Chunks 0–15 and 10–24 hold the first passage whole, "
            "chunks 0–15 and 15–19 neither: (1 + 0) / 2 = 0.5.",
            "passage_hit_rate@2",
            [_EXAMPLE_CASE, overlap_case([(10, 20), (30, 34)], [(0, 15), (15, 19)])],
            0.5,
        ),
        use="when one good passage is enough",
        blind="how many arrived",
        family="binary",
        higher_k="never lowers it; the model has more to read",
    )

    def measure(self, case: Case, read: list[Span]) -> tuple[float, str]:
        """Return 1 or 0."""
        share, reason = super().measure(case, read)
        return float(share > 0), reason


@metrics.register
@dataclass(frozen=True)
class PassageMrr(_Passages):
    """1 / the rank at which the first group becomes whole, 0 if none does.

    From 0 to 1. Source: this harness.
    """

    name: ClassVar[str] = "passage_mrr"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="1 / rank at which the first group becomes whole, 0 if none does in the top k",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15 and 10–24: half of the first passage is "
            "there at rank 1, all of it at rank 2: 1 / 2 = 0.5.",
            "passage_mrr@2",
            [_EXAMPLE_CASE],
            0.5,
        ),
        use="when one good passage is wanted early",
        blind="anything after it",
        family="binary",
        order="order-aware",
        higher_k="never lowers it, and adds less the further down a passage becomes whole",
    )

    def measure(self, case: Case, read: list[Span]) -> tuple[float, str]:
        """Return the reciprocal rank."""
        for rank in range(1, len(read) + 1):
            if count_whole_groups(case, read[:rank], self.whole):
                return 1 / rank, f"whole at rank {rank}"
        return 0.0, "never whole"
