"""Base class of metrics that compare an answer with reference answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from harness.metrics.needs import Kind, Need
from harness.records import Case, Score, not_scored

EMPTY_ANSWER = Score(0.0, "the answer is empty")


class ReferenceMetric(ABC):
    """A metric of an answer against its question's references; an empty answer gets 0."""

    version: ClassVar[int] = 2
    kind: ClassVar[Kind] = "quality"
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})
    perfect: ClassVar[bool] = True

    def score(self, case: Case) -> Score:
        """Score one answer; None where there is no answer or no reference."""
        not_applicable = check_applicable(case)
        if not_applicable is not None:
            return not_applicable
        assert case.answer is not None
        if not case.answer.text.strip():
            return EMPTY_ANSWER
        return self.compare(case.answer.text, references(case))

    @abstractmethod
    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Score an answer that is not empty against one or more references."""


def references(case: Case) -> list[str]:
    """Return the question's reference answers, without those that are empty."""
    return [text for text in case.question.answers if text.strip()]


def check_applicable(case: Case) -> Score | None:
    """Return why the answer cannot be compared, or None where it can."""
    if case.answer is None:
        return not_scored("nothing was answered")
    if not references(case):
        return not_scored("the question has no reference answer")
    return None
