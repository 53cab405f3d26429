"""Answer relevance: does the answer address the question?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.judging import ByJudge, Item, answer_of
from harness.metrics import metrics
from harness.needs import Need
from harness.records import Case, Score


@metrics.register
@dataclass(frozen=True)
class AnswerRelevance(ByJudge):
    """How well the answer addresses the question, 0 to 3 by a judge model, divided by 3.

    Not scored where the system declined or said nothing. Use it where answers beside the question
    are a worry. It cannot see whether the answer is true, and a judge can be talked round. From 0
    to 1, graded, not order-aware. Source: this harness; the idea is that of Es et al., "RAGAS:
    Automated Evaluation of Retrieval Augmented Generation", 2023.
    """

    name: ClassVar[str] = "answer_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "judge"})

    def items(self, case: Case) -> list[Item] | Score:
        """Return the answer, to be held against the question."""
        said = answer_of(case)
        if isinstance(said, Score):
            return said
        return [self.item("the answer", question=case.question.text, answer=said)]
