"""Evidence: how much of the gold passages was retrieved, whatever the chunks were."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt, Le

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, overlap_case
from harness.metrics.needs import Need, QualityMetric
from harness.ranking.relevance import Cutoff, count_whole_groups, gold_spans, passage_groups
from harness.records import Case, Score, Span, not_scored
from harness.text import spans

_EXAMPLE_CASE = overlap_case([(10, 20), (30, 34)], [(0, 15), (10, 24)])


class _Evidence(Cutoff, QualityMetric, ABC):
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "evidence"})

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        read, note = self.read(case.hits)
        value, reason = self.measure(case, read)
        return Score(value, note or reason)

    @abstractmethod
    def measure(self, case: Case, read: Sequence[Span]) -> tuple[float, str]:
        """Return the value and what it comes from."""


@dataclass(frozen=True)
class _Characters(_Evidence):
    """Counts characters, so that cutting the same text otherwise changes nothing.

    Source: Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024.
    """

    def measure(self, case: Case, read: Sequence[Span]) -> tuple[float, str]:
        """Return the value, and how many gold characters were retrieved."""
        spans_of_gold = gold_spans(case, read)
        overlap = spans.overlap(spans_of_gold, spans.union(read))
        gold = spans.count_characters(spans_of_gold)
        value = self.divide(overlap, gold, spans.count_characters(read))
        return value, f"{overlap} of {gold} characters"

    @abstractmethod
    def divide(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return the value from three counts of characters; overlap counts twice in the last."""


@metrics.register
@dataclass(frozen=True)
class EvidenceRecall(_Characters):
    """Share of the gold characters that were retrieved, |G and U| / |G|.

    1: all evidence was retrieved. 0: none. 0.5: half of its characters are missing. From 0 to 1.
    Source: Chroma, 2024.
    """

    name: ClassVar[str] = "evidence_recall"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="|G ∩ U| / |G|, G = gold characters, U = characters retrieved",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15 and 10–24: the first passage is there, the "
            "second is not: 10 / (10 + 4) = 0.7143.",
            "evidence_recall@2",
            [_EXAMPLE_CASE],
            0.7143,
        ),
        use="to compare chunkers when the model needs the complete context",
        blind="what else was retrieved",
        higher_k="finds more of the evidence, and the model has more to read",
    )

    def divide(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return found / wanted."""
        return overlap / gold


@metrics.register
@dataclass(frozen=True)
class EvidencePrecision(_Characters):
    """Share of the retrieved characters that are gold, |G and U| / |S|; nothing retrieved: 0.

    Text that two chunks share is paid for twice. 1: nothing but evidence was retrieved. 0.1: nine
    tenths of the text is something else. From 0 to 1. Source: Chroma, 2024.
    """

    name: ClassVar[str] = "evidence_precision"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="|G ∩ U| / |S|, S = characters retrieved, those in two chunks counted twice",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15 and 10–24: 10 gold characters in chunks of "
            "15 and 14: 10 / (15 + 14) = 0.3448.",
            "evidence_precision@2",
            [_EXAMPLE_CASE],
            0.3448,
        ),
        use="where context is expensive",
        blind="what was missed",
        higher_k="usually lowers it: text further down is seldom evidence",
    )

    def divide(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return found / retrieved."""
        return overlap / retrieved if retrieved else 0.0


@metrics.register
@dataclass(frozen=True)
class EvidenceIou(_Characters):
    """Gold and retrieved characters: those in both over those in either, overlap paid for.

    1: exactly the evidence was retrieved. 0: none of it. Low values are usual: chunks are longer.
    From 0 to 1. Source: Chroma, 2024.
    """

    name: ClassVar[str] = "evidence_iou"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="|G ∩ U| / (|G| + |S| − |G ∩ U|)",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15 and 10–24: 10 / (14 + 29 − 10) = 0.303.",
            "evidence_iou@2",
            [_EXAMPLE_CASE],
            0.303,
        ),
        use="to weigh missing text against needless text",
        blind="which of the two it was",
        higher_k="raises it while evidence is still found, and lowers it afterwards",
    )

    def divide(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return found / (wanted + retrieved - found)."""
        return overlap / (gold + retrieved - overlap)


@dataclass(frozen=True)
class _Passages(_Evidence):
    """A group is whole when 95 % of the visible characters of one of its passages are there.

    `whole` is that share. The chunks that hold them may be several.
    """

    whole: Annotated[float, Gt(0), Le(1)] = 0.95

    def measure(self, case: Case, read: Sequence[Span]) -> tuple[float, str]:
        """Return the share of groups that are whole."""
        whole, groups = count_whole_groups(case, read, self.whole), len(passage_groups(case))
        return whole / groups, f"{whole} of {groups} passages whole"


@metrics.register
@dataclass(frozen=True)
class PassageRecall(_Passages):
    """Share of the groups of passages of which one is whole in the top k.

    1: every group has arrived whole. 0: none. 0.5: half of what the answer needs is missing. From 0
    to 1. Source: this harness.
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

    Its mean is the share of questions with at least one whole passage. 0 or 1 a question. Source:
    this harness.
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

    def measure(self, case: Case, read: Sequence[Span]) -> tuple[float, str]:
        """Return 1 or 0."""
        share, reason = super().measure(case, read)
        return float(share > 0), reason


@metrics.register
@dataclass(frozen=True)
class PassageMrr(_Passages):
    """1 / the rank at which the first group becomes whole, 0 if none does.

    1: whole at the first rank. 0.5: at the second. 0: never within the top k. From 0 to 1. Source:
    this harness.
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

    def measure(self, case: Case, read: Sequence[Span]) -> tuple[float, str]:
        """Return the reciprocal rank."""
        for rank in range(1, len(read) + 1):
            if count_whole_groups(case, read[:rank], self.whole):
                return 1 / rank, f"whole at rank {rank}"
        return 0.0, "never whole"
