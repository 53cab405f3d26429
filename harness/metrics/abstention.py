"""Abstention: does it decline when, and only when, there is no answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.needs import Need, QualityMetric
from harness.records import Case, Score, not_scored


@metrics.register
@dataclass(frozen=True)
class Abstention(QualityMetric):
    """1 when the system declined an unanswerable question or answered an answerable one, else 0.

    Whether it declined, the generator itself says. 0 or 1 a question. Source: SQuAD 2.0 has the
    task (Rajpurkar et al., "Know What You Don't Know", 2018).
    """

    name: ClassVar[str] = "abstention"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer"})
    unanswerable: ClassVar[bool] = True
    """It is scored on unanswerable questions too; other metrics are not."""
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="1 if declined = unanswerable, else 0",
        example=Example(
            "Two unanswerable questions, one of them declined, and two answerable ones, both "
            "answered: (1 + 0 + 1 + 1) / 4 = 0.75.",
            "abstention",
            [
                answer_case("I do not know.", declined=True, answerable=False),
                answer_case("6 dollars", answerable=False),
                answer_case("6 dollars", "6 dollars"),
                answer_case("24 docks", "14 docks"),
            ],
            0.75,
        ),
        use="beside every metric of answers: they leave unanswerable questions out",
        blind="whether an answer is right",
        family="binary",
    )

    def score(self, case: Case) -> Score:
        """Score one case; None where nothing was asked of a generator."""
        if case.answer is None:
            return not_scored("nothing was answered")
        declined = case.answer.declined
        decision = "declined" if declined else "answered"
        can = "answerable" if case.question.answerable else "unanswerable"
        return Score(float(declined != case.question.answerable), f"{decision}, {can}")
