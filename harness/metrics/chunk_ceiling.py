"""Chunk ceiling: how precise could retrieval be, given where the chunker cut?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, overlap_case
from harness.metrics.needs import DescriptiveMetric, Need
from harness.ranking.relevance import gold_spans
from harness.records import Case, Score, Span, not_scored
from harness.text import spans


@metrics.register
@dataclass(frozen=True)
class ChunkCeiling(DescriptiveMetric):
    """Gold characters over those of all chunks that hold any, |G and A| / |A or G|.

    The precision of a retriever that finds all evidence and counts overlaps once: a property of the
    chunker, not a bound on evidence_precision. `abutting: true` counts chunks that only stand next
    to a passage too, as Chroma's published values (`precision_omega`) do. 1: chunks that hold
    evidence hold nothing else. 0.2: they are five times its length. From 0 to 1. Source: Smith &
    Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024.
    """

    abutting: bool = False

    name: ClassVar[str] = "chunk_ceiling"
    needs: ClassVar[frozenset[Need]] = frozenset({"evidence"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="|G ∩ A| / |A ∪ G|, G = gold characters, A = those of all chunks that hold any",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15, 10–24 and 24–40: all three hold some of it, "
            "40 characters together, and (10 + 4) / 40 = 0.35.",
            "chunk_ceiling",
            [overlap_case([(10, 20), (30, 34)], [(0, 15), (10, 24), (24, 40)])],
            0.35,
        ),
        use="to describe how tightly a chunker cuts round the evidence",
        blind="what is retrieved",
    )

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        if case.touching is None:
            return not_scored("the chunks of the index are not known")
        gold = gold_spans(case, case.touching)
        around = spans.union(_chunks_near(case.touching, gold, reach=int(self.abutting)))
        both = spans.overlap(gold, around)
        return Score(both / (spans.count_characters(around) + spans.count_characters(gold) - both))


def _chunks_near(chunks: Sequence[Span], gold: Sequence[Span], reach: int) -> list[Span]:
    """Return the chunks that share a character with the gold widened by `reach` on both sides."""
    wider = spans.union(Span(span.doc, span.start - reach, span.end + reach) for span in gold)
    return [chunk for chunk in chunks if spans.overlap([chunk], wider)]
