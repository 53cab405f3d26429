"""Answer relevance: does the answer address the question?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.judge import JudgeQuestion, MeanVerdictMetric, answer_to_judge
from harness.metrics.needs import Need
from harness.records import Case, Score


@metrics.register
@dataclass(frozen=True)
class AnswerRelevance(MeanVerdictMetric):
    """How well the answer addresses the question, 0 to 3 by a judge model, divided by 3.

    Not scored where the system declined or said nothing. From 0 to 1. Source: this harness; the
    idea is that of Es et al., "RAGAS: Automated Evaluation of Retrieval Augmented Generation",
    2023.
    """

    name: ClassVar[str] = "answer_relevance"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "judge"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives an answer that only half addresses the question 2 of 3: "
            "2 / 3 = 0.6667.",
            "answer_relevance",
            [answer_case("Passes are sold at every station.")],
            0.6667,
            verdicts=["2"],
        ),
        use="where answers beside the question are a worry",
        blind="whether the answer is true; and a judge can be talked round",
    )

    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return the answer, to be held against the question."""
        answer = answer_to_judge(case)
        if isinstance(answer, Score):
            return answer
        return [self.item("the answer", question=case.question.text, answer=answer)]
