"""Fluency: is the answer well written?"""

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
class Fluency(MeanVerdictMetric):
    """The answer's grammar and wording, 0 to 3 by a judge model, divided by 3.

    Not scored where the system declined or said nothing. From 0 to 1. Source: this harness; the
    criterion is that of Fabbri et al., "SummEval: Re-evaluating Summarization Evaluation", 2021.
    """

    name: ClassVar[str] = "fluency"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "judge"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="verdict / 3",
        example=Example(
            "The judge gives “Day pass cost 6 dollar.” 1 of 3: 1 / 3 = 0.3333.",
            "fluency",
            [answer_case("Day pass cost 6 dollar.")],
            0.3333,
            verdicts=["1"],
        ),
        use="for small models, and languages that a model knows badly",
        blind="anything of what the answer says",
    )

    def items(self, case: Case) -> list[JudgeQuestion] | Score:
        """Return the answer, to be read by itself."""
        answer = answer_to_judge(case)
        if isinstance(answer, Score):
            return answer
        return [self.item("the answer", answer=answer)]
