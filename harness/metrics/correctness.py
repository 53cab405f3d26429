"""Correctness: does the answer say what a reference says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.facts import Example, Facts, answered
from harness.judging import ByJudge, Item, answer_of
from harness.metrics import metrics
from harness.needs import Need
from harness.records import Case, Score, not_scored
from harness.references import references


@metrics.register
@dataclass(frozen=True)
class Correctness(ByJudge):
    """How far the answer says what a reference says, 0 to 3 by a judge model, divided by 3.

    Any one of several references will do. Not scored where the system declined or said nothing.
    From 0 to 1. Source: this harness; the method is that of Zheng et al., "Judging LLM-as-a-Judge
    with MT-Bench and Chatbot Arena", 2023.
    """

    name: ClassVar[str] = "correctness"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references", "judge"})
    facts: ClassVar[Facts] = Facts(
        formula="verdict / 3",
        example=Example(
            "The judge gives “6 dollars” against the reference “6 dollars a day” 2 of 3: "
            "2 / 3 = 0.6667.",
            "correctness",
            [answered("6 dollars", "6 dollars a day")],
            0.6667,
            verdicts=["2"],
        ),
        use="where a right answer may be worded freely",
        blind="an error in a reference; and a judge can be talked round",
        family="graded",
        order="not order-aware",
    )

    def items(self, case: Case) -> list[Item] | Score:
        """Return the answer, to be held against the references."""
        said, gold = answer_of(case), references(case)
        if isinstance(said, Score):
            return said
        if not gold:
            return not_scored("the question has no reference answer")
        listed = "\n".join(f"- {each}" for each in gold)
        texts = {"question": case.question.text, "references": listed, "answer": said}
        return [self.item("the answer", **texts)]
