"""Context relevance: does what was retrieved help to answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Gt

from harness.judging import ByJudge, Item
from harness.metrics import metrics
from harness.needs import Need
from harness.records import Case, Score, not_scored

_READ = 5


@metrics.register
@dataclass(frozen=True)
class ContextRelevance(ByJudge):
    """How much each of the first k hits helps to answer, 0 to 3 by a judge model, / 3; their mean.

    The first 5 where no k is given; each is judged by itself. Use it where no evidence is labelled.
    It cannot see what was not retrieved, and falls with k where one passage is all it takes. From 0
    to 1, graded, not order-aware. Source: this harness; the idea is that of Saad-Falcon et al.,
    "ARES: An Automated Evaluation Framework for Retrieval-Augmented Generation Systems", 2024.
    """

    k: Annotated[int, Gt(0)] | None = None

    name: ClassVar[str] = "context_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({"ranking", "judge"})

    def items(self, case: Case) -> list[Item] | Score:
        """Return each of the first hits, to be held against the question."""
        if not case.hits:
            return not_scored("nothing was retrieved")
        chunks = [hit.chunk for hit in case.hits[: self.k or _READ]]
        return [
            self.item(
                f"{each.span.doc} {each.span.start}–{each.span.end}",
                question=case.question.text,
                passage=each.text,
            )
            for each in chunks
        ]
