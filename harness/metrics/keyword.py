"""Keywords: where does each of the question's keywords turn up?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, keyword_case
from harness.metrics.ndcg import dcg, ideal_dcg
from harness.metrics.needs import Need, QualityMetric
from harness.records import Case, Judged, Label, Score, not_scored

_EXAMPLE_CASE = keyword_case(1, 3, 5, None)


@dataclass(frozen=True)
class _Keyword(QualityMetric, ABC):
    """A value for each keyword, judged by itself, and the mean of them."""

    k: Annotated[int, Gt(0)]

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "keywords"})
    labels: ClassVar[Label] = "keywords"
    uses_inventory: ClassVar[bool] = False
    """Whether it needs to know every chunk that holds the keyword, retrieved or not."""

    def score(self, case: Case) -> Score:
        """Score one case; None where its question has no keyword."""
        if not case.keywords:
            return not_scored("the question has no keywords label")
        if self.uses_inventory and any(judged.inventory is None for judged in case.keywords):
            return not_scored("how many chunks hold each keyword is not known")
        values = [self.judge(judged) for judged in case.keywords]
        values_text = ", ".join(f"{value:.3f}" for value in values)
        return Score(sum(values) / len(values), f"by keyword: {values_text}")

    @abstractmethod
    def judge(self, judged: Judged) -> float:
        """Return one keyword's value."""


@metrics.register
@dataclass(frozen=True)
class KeywordMrr(_Keyword):
    """1 / rank of the first of the top k chunks with the keyword, averaged over the keywords.

    1: every keyword is in the first chunk. 0: none is found. 0.5: as if each were second. From 0 to
    1. Source: this harness.
    """

    name: ClassVar[str] = "keyword_mrr"
    perfect: ClassVar[bool] = False  # keywords of several chunks cannot all stand first
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="mean over the keywords of 1 / rank of the first chunk that has it, 0 if none in "
        "the top k",
        example=Example(
            "Four keywords first found at ranks 1, 3, 5 and never, k = 5: "
            "(1/1 + 1/3 + 1/5 + 0) / 4 = 0.3833.",
            "keyword_mrr@5",
            [_EXAMPLE_CASE],
            0.3833,
        ),
        use="where a test set has keywords alone",
        blind="whether a keyword stands there for the reason the question wants",
        family="binary",
        order="order-aware",
        higher_k="never lowers it, and adds less the further down a keyword is found",
    )

    def judge(self, judged: Judged) -> float:
        """Return the reciprocal rank."""
        first = next((rank for rank, _ in judged.graded), self.k + 1)
        return 1 / first if first <= self.k else 0.0


@metrics.register
@dataclass(frozen=True)
class KeywordNdcg(_Keyword):
    """nDCG@k of each keyword, against all chunks of the index that hold it, averaged.

    1: chunks with the keywords stand first. 0: none is found. In between: some stand low. From 0 to
    1. Source: this harness.
    """

    name: ClassVar[str] = "keyword_ndcg"
    uses_inventory: ClassVar[bool] = True
    perfect: ClassVar[bool] = False  # keywords of several chunks cannot all stand first
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="mean over the keywords of DCG / ideal DCG, DCG = Σ 1 / log₂(rank + 1) over the "
        "chunks that have it",
        example=Example(
            "Four keywords of one chunk each, found at ranks 1, 3, 5 and never, k = 5; the ideal "
            "is 1 / log₂(2) = 1: (1 / log₂(2) + 1 / log₂(4) + 1 / log₂(6) + 0) / 4 = 0.4717.",
            "keyword_ndcg@5",
            [_EXAMPLE_CASE],
            0.4717,
        ),
        use="where a test set has keywords alone and several chunks should be found",
        blind="whether a keyword stands there for the right reason",
        family="binary",
        order="order-aware",
        higher_k="reads further down, and may raise or lower it: the ideal grows too",
    )

    def judge(self, judged: Judged) -> float:
        """Return the nDCG; 0 where no chunk holds the keyword."""
        best = ideal_dcg(judged.inventory or (), self.k)
        top = [(rank, grade) for rank, grade in judged.graded if rank <= self.k]
        return dcg(top) / best if best else 0.0


@metrics.register
@dataclass(frozen=True)
class KeywordRecall(_Keyword):
    """Share of the question's keywords that occur in the top k chunks.

    1: every keyword is in the top k. 0: none. 0.5: half of them are. From 0 to 1. Source: this
    harness.
    """

    name: ClassVar[str] = "keyword_recall"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="keywords in the top k / keywords",
        example=Example(
            "Four keywords first found at ranks 1, 3, 5 and never, k = 5: 3 / 4 = 0.75.",
            "keyword_recall@5",
            [_EXAMPLE_CASE],
            0.75,
        ),
        use="where a test set has keywords alone",
        blind="how far down they stand",
        family="binary",
        higher_k="never lowers it; the model has more to read",
    )

    def judge(self, judged: Judged) -> float:
        """Return 1 or 0."""
        return float(any(judged.grades[: self.k]))
