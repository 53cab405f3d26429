"""Evidence: the gold characters that were retrieved, whatever the chunks were."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from harness import spans
from harness.coverage import Cutoff, gold
from harness.metrics import metrics
from harness.needs import Kind, Need
from harness.records import Case, Score, not_scored


@dataclass(frozen=True)
class _Evidence(Cutoff, ABC):
    """Counts characters, so that cutting the same text otherwise changes nothing.

    Source: Smith & Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024.
    """

    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "evidence"})
    perfect: ClassVar[bool] = True

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        read, note = self.read(case.hits)
        wanted = gold(case, read)
        found = spans.overlap(wanted, spans.union(read))
        value = self.measure(found, spans.size(wanted), spans.size(read))
        return Score(value, note or f"{found} of {spans.size(wanted)} characters")

    @abstractmethod
    def measure(self, found: int, wanted: int, retrieved: int) -> float:
        """Return the value from three counts of characters; overlap counts twice in the last."""


@metrics.register
@dataclass(frozen=True)
class EvidenceRecall(_Evidence):
    """Share of the gold characters that were retrieved, |G and U| / |G|.

    Use it to compare chunkers when the model needs the complete context. It cannot see what else
    was retrieved. From 0 to 1, graded, not order-aware. Source: Chroma, 2024.
    """

    name: ClassVar[str] = "evidence_recall"

    def measure(self, found: int, wanted: int, retrieved: int) -> float:
        """Return found / wanted."""
        return found / wanted


@metrics.register
@dataclass(frozen=True)
class EvidencePrecision(_Evidence):
    """Share of the retrieved characters that are gold, |G and U| / |S|; nothing retrieved: 0.

    Text that two chunks share is paid for twice. Use it where context is dear. It cannot see what
    was missed. From 0 to 1, graded, not order-aware. Source: Chroma, 2024.
    """

    name: ClassVar[str] = "evidence_precision"

    def measure(self, found: int, wanted: int, retrieved: int) -> float:
        """Return found / retrieved."""
        return found / retrieved if retrieved else 0.0


@metrics.register
@dataclass(frozen=True)
class EvidenceIou(_Evidence):
    """Gold and retrieved characters: those in both over those in either, overlap paid for.

    |G and U| / (|G| + |S| - |G and U|). Use it to weigh missing text against needless text. It
    cannot see which of the two it was. From 0 to 1, graded, not order-aware. Source: Chroma, 2024.
    """

    name: ClassVar[str] = "evidence_iou"

    def measure(self, found: int, wanted: int, retrieved: int) -> float:
        """Return found / (wanted + retrieved - found)."""
        return found / (wanted + retrieved - found)
