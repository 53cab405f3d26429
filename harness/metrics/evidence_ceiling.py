"""Evidence ceiling: how much of the evidence could k chunks hold, whichever they are?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, overlap_case
from harness.metrics.needs import DescriptiveMetric, Need
from harness.ranking import cover
from harness.ranking.relevance import gold_spans, passage_groups
from harness.records import Case, Score, Span, not_scored
from harness.text import spans

_MAX_WAYS = 256
"""Ways to choose between passages that say the same that are gone through."""


@metrics.register
@dataclass(frozen=True)
class EvidenceCeiling(DescriptiveMetric):
    """The largest evidence_recall@k that any k chunks of the index could give.

    What a perfect retriever would reach: a property of the chunker. Exact; where passages that say
    the same could be chosen between in more than 256 ways, or a choice that is best by characters
    is not the one that evidence_recall makes, it may be an upper bound, and the reason says so. 1:
    k chunks can hold all evidence. Below 1, no retriever can reach more. From 0 to 1. Source: this
    harness; maximum coverage by intervals, by dynamic programming.
    """

    k: Annotated[int, Gt(0)]

    name: ClassVar[str] = "evidence_ceiling"
    needs: ClassVar[frozenset[Need]] = frozenset({"evidence"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="max |G ∩ U| / |G| over every k chunks of the index, U = their characters",
        example=Example(
            "Evidence at 10–20 and 30–34, chunks 0–15, 10–24 and 24–40: of single chunks 10–24 "
            "holds most, all of the first passage, and 10 / 14 = 0.7143. Two chunks could hold "
            "all.",
            "evidence_ceiling@1",
            [overlap_case([(10, 20), (30, 34)], [(0, 15), (10, 24), (24, 40)])],
            0.7143,
        ),
        use="to tell what the chunker withholds from what the retriever misses",
        blind="what is retrieved",
        higher_k="raises it, up to what all chunks together hold",
    )

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no evidence."""
        if not case.question.passages:
            return not_scored("the question has no evidence label")
        if case.touching is None:
            return not_scored("the chunks of the index are not known")
        by_group = passage_groups(case).values()
        ways = prod(map(len, by_group))
        if ways > _MAX_WAYS:
            return self._bound(case, case.touching, ways)
        covers = [
            (cover.best_cover(gold, case.touching, self.k), gold)
            for gold in (
                spans.union(passage.span for passage in passages) for passages in product(*by_group)
            )
        ]
        most = max(best.characters / spans.count_characters(gold) for best, gold in covers)
        tried = [_evidence_recall(case, best.chunks) for best, _ in covers]
        if most not in tried:
            return Score(most, "at most: evidence_recall may choose other passages")
        return Score(most, f"{self.k} of {len(case.touching)} chunks near the evidence")

    def _bound(self, case: Case, chunks: Sequence[Span], ways: int) -> Score:
        """Return what no choice can exceed: most of all passages over the least to be found."""
        by_group = passage_groups(case).values()
        every = spans.union(passage.span for passages in by_group for passage in passages)
        least = max(
            min(spans.count_characters([gold.span]) for gold in passages) for passages in by_group
        )
        most = cover.best_cover(every, chunks, self.k).characters
        return Score(min(1.0, most / least), f"at most: {ways:,} ways to choose between passages")


def _evidence_recall(case: Case, chunks: Sequence[Span]) -> float:
    """Return the evidence_recall of these chunks."""
    gold = gold_spans(case, chunks)
    return spans.overlap(gold, spans.union(chunks)) / spans.count_characters(gold)
