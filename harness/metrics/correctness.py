"""Correctness: does the answer say what a reference says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.judge import JudgeQuestion, MeanVerdictMetric, answer_to_judge
from harness.metrics.needs import Need
from harness.metrics.references import references
from harness.records import Case, Score, not_scored


@metrics.register
@dataclass(frozen=True)
class Correctness(MeanVerdictMetric):
    """How far the answer says what a reference says, 0 to 3 by a judge model, divided by 3.

    Any one of several references will do. Not scored where the system declined or said nothing.
    From 0 to 1. Source: this harness; the method is that of Zheng et al., "Judging LLM-as-a-Judge
    with MT-Bench and Chatbot Arena", 2023.
    """

    name: ClassVar[str] = "correctness"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references", "judge"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives “6 dollars” against the reference “6 dollars a day” 2 of 3: "
            "2 / 3 = 0.6667.",
            "correctness",
            [answer_case("6 dollars", "6 dollars a day")],
            0.6667,
            verdicts=["2"],
        ),
        use="where a right answer may be worded freely",
        blind="an error in a reference; and a judge can be talked round",
    )

    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return the answer, to be held against the references."""
        answer, gold = answer_to_judge(case), references(case)
        if isinstance(answer, Score):
            return answer
        if not gold:
            return not_scored("the question has no reference answer")
        listed = "\n".join(f"- {reference}" for reference in gold)
        texts = {"question": case.question.text, "references": listed, "answer": answer}
        return [self.item("the answer", **texts)]
