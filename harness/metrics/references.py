"""Base classes of metrics that compare an answer with reference answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from harness.metrics.needs import Need, QualityMetric, ScoringContext
from harness.records import Case, Score, not_scored

AnswerPair = tuple[str, tuple[str, ...]]
"""An answer and its references, none of them empty."""


class ReferenceMetric(QualityMetric, ABC):
    """A metric of an answer against its question's references; an empty answer gets 0."""

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})

    def score(self, case: Case) -> Score:
        """Score one answer; None where there is no answer or no reference."""
        pair = answer_pair(case)
        return pair if isinstance(pair, Score) else self.compare(*pair)

    @abstractmethod
    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Score an answer that is not empty against one or more references."""


class BatchReferenceMetric(QualityMetric, ABC):
    """The same for a model, which is asked once for all cases."""

    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "references"})

    def score_all(self, cases: Sequence[Case], context: ScoringContext) -> list[Score]:
        """Score each answer; None where there is no answer or no reference."""
        pairs = [answer_pair(case) for case in cases]
        scores = iter(self.compare_all([pair for pair in pairs if not isinstance(pair, Score)]))
        return [pair if isinstance(pair, Score) else next(scores) for pair in pairs]

    @abstractmethod
    def compare_all(self, pairs: Sequence[AnswerPair]) -> list[Score]:
        """Score each answer against its references; `note_unread` adds what the model cut."""


_NOT_READ_WHOLE = "not read whole"


def note_unread(score: Score, cut: Sequence[bool]) -> Score:
    """Return the score with the number of texts that its model did not read whole in the reason.

    `cut` says of the answer and of each reference whether the model read only its beginning.
    """
    if not any(cut):
        return score
    note = f"{sum(cut)} of {len(cut)} texts {_NOT_READ_WHOLE}"
    return replace(score, reason=f"{score.reason}; {note}" if score.reason else note)


def is_read_whole(score: Score) -> bool:
    """Return whether the model behind a score read answer and references to their ends."""
    return not score.reason.endswith(_NOT_READ_WHOLE)


def answer_pair(case: Case) -> AnswerPair | Score:
    """Return the answer and its references without those that are empty, or the score without."""
    if case.answer is None:
        return not_scored("nothing was answered")
    texts = references(case)
    if not texts:
        return not_scored("the question has no reference answer")
    if not case.answer.text.strip():
        return Score(0.0, "the answer is empty")
    return case.answer.text, tuple(texts)


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
