"""Evidence: the gold characters that were retrieved, whatever the chunks were."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, overlap_case
from harness.metrics.needs import Need, QualityMetric
from harness.ranking.coverage import Cutoff, gold_spans
from harness.records import Case, Score, not_scored
from harness.text import spans

_EXAMPLE_CASE = overlap_case([(10, 20), (30, 34)], [(0, 15), (10, 24)])


@dataclass(frozen=True)
class _Evidence(Cutoff, QualityMetric, ABC):
    """Counts characters, so that cutting the same text otherwise changes nothing.

    Source: Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024.
    """

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "evidence"})

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        read, note = self.read(case.hits)
        gold = gold_spans(case, read)
        overlap = spans.overlap(gold, spans.union(read))
        value = self.measure(overlap, spans.count_characters(gold), spans.count_characters(read))
        return Score(value, note or f"{overlap} of {spans.count_characters(gold)} characters")

    @abstractmethod
    def measure(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return the value from three counts of characters; overlap counts twice in the last."""


@metrics.register
@dataclass(frozen=True)
class EvidenceRecall(_Evidence):
    """Share of the gold characters that were retrieved, |G and U| / |G|.

    From 0 to 1. Source: Chroma, 2024.
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

    def measure(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return found / wanted."""
        return overlap / gold


@metrics.register
@dataclass(frozen=True)
class EvidencePrecision(_Evidence):
    """Share of the retrieved characters that are gold, |G and U| / |S|; nothing retrieved: 0.

    Text that two chunks share is paid for twice. From 0 to 1. Source: Chroma, 2024.
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
        use="where context is dear",
        blind="what was missed",
        higher_k="usually lowers it: text further down is seldom evidence",
    )

    def measure(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return found / retrieved."""
        return overlap / retrieved if retrieved else 0.0


@metrics.register
@dataclass(frozen=True)
class EvidenceIou(_Evidence):
    """Gold and retrieved characters: those in both over those in either, overlap paid for.

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

    def measure(self, overlap: int, gold: int, retrieved: int) -> float:
        """Return found / (wanted + retrieved - found)."""
        return overlap / (gold + retrieved - overlap)
