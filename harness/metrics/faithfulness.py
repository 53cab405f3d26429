"""Faithfulness: does the context say what the answer says?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.judge import JudgeQuestion, MeanVerdictMetric, answer_to_judge
from harness.metrics.needs import Need
from harness.records import Case, Score, not_scored
from harness.text.sentences import find_sentences


@metrics.register
@dataclass(frozen=True)
class Faithfulness(MeanVerdictMetric):
    """Share of the answer's statements that the context supports, by a judge model.

    A statement is a sentence, and each is judged by itself: yes or no, by the context as it was
    sent. Not scored where the system declined, said nothing, or was sent no context. 1: the context
    supports every statement. 0: none. 0.5: half is unsupported. From 0 to 1. Source: Es et al.,
    "RAGAS: Automated Evaluation of Retrieval Augmented Generation", 2023, with sentences in the
    place of statements that a model makes.
    """

    name: ClassVar[str] = "faithfulness"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "context", "judge"})
    top: ClassVar[int] = 1
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="statements that the context supports / statements of the answer",
        example=Example(
            "“A day pass costs 6 dollars. It can be bought online. It lasts 24 hours.”, of which "
            "the judge finds the first and the last in the context: 2 / 3 = 0.6667.",
            "faithfulness",
            [
                answer_case(
                    "A day pass costs 6 dollars. It can be bought online. It lasts 24 hours.",
                    context="A day pass costs 6 dollars and lasts 24 hours.",
                )
            ],
            0.6667,
            verdicts=["yes", "no", "yes"],
        ),
        use="against invention",
        blind="whether the context is right, nor what a sentence leaves to the one before it or to "
        "the question; and a text can talk a judge round",
    )

    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return each statement of the answer, to be held against the context."""
        answer = answer_to_judge(case)
        if isinstance(answer, Score):
            return answer
        if not (case.context or "").strip():
            return not_scored("no context was sent")
        parts = [answer[start:end] for start, end in find_sentences(answer)]
        statements = [statement for statement in parts if any(map(str.isalnum, statement))]
        if not statements:
            return not_scored("the answer has no statement")
        return [
            self.item(statement, context=case.context or "", statement=statement)
            for statement in statements
        ]

    def _describe_verdicts(self, values: Sequence[int]) -> str:
        return f"{sum(values)} of {len(values)} statements supported"
