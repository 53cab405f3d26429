"""Abstention: does it decline when, and only when, there is no answer?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.needs import Kind, Need
from harness.records import Case, Score, not_scored


@metrics.register
@dataclass(frozen=True)
class Abstention:
    """1 when the system declined an unanswerable question or answered an answerable one, else 0.

    Whether it declined, the generator itself says. Use it beside every metric of answers, which
    leave unanswerable questions out. It cannot see whether an answer is right. 0 or 1 a question,
    binary, not order-aware. Source: SQuAD 2.0 has the task (Rajpurkar et al., "Know What You Don't
    Know", 2018).
    """

    name: ClassVar[str] = "abstention"
    version: ClassVar[int] = 1
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer"})
    perfect: ClassVar[bool] = True
    unanswerable: ClassVar[bool] = True
    """It is scored on unanswerable questions too; other metrics are not."""

    def score(self, case: Case) -> Score:
        """Score one case; None where nothing was asked of a generator."""
        if case.answer is None:
            return not_scored("nothing was answered")
        declined = case.answer.declined
        said = "declined" if declined else "answered"
        can = "answerable" if case.question.answerable else "unanswerable"
        return Score(float(declined != case.question.answerable), f"{said}, {can}")
