"""Declines: are they the right ones, and are all the right ones there?"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.needs import Need, QualityMetric, WholeSetMetric
from harness.records import Case, Score, not_scored


@metrics.register
@dataclass(frozen=True)
class Abstention(QualityMetric):
    """1 when the system declined an unanswerable question or answered an answerable one, else 0.

    Whether it declined, the generator itself says. 1: it rightly declined or rightly tried. Its
    mean is the share of right decisions. 0 or 1 a question. Source: SQuAD 2.0 has the task
    (Rajpurkar et al., "Know What You Don't Know", 2018).
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


_EXAMPLE_CASES = [
    answer_case("", declined=True, answerable=False),
    answer_case("", declined=True, answerable=False),
    answer_case("", "6 dollars", declined=True),
]


class _Declines(WholeSetMetric):
    """A share of whole-set counts: declined and unanswerable, over those with `is_counted`."""

    needs: ClassVar[frozenset[Need]] = frozenset({"answer"})
    unanswerable: ClassVar[bool] = True

    def score(self, case: Case) -> Score:
        """Return (rightly declined, counted) of one case, each 0 or 1."""
        if case.answer is None:
            return not_scored("nothing was answered")
        unanswerable, declined = not case.question.answerable, case.answer.declined
        right = unanswerable and declined
        return Score(
            None, "", counts=(float(right), float(self.is_counted(unanswerable, declined)))
        )

    @abstractmethod
    def is_counted(self, unanswerable: bool, declined: bool) -> bool:
        """Return whether the case is in the denominator."""

    def totals(self, counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the share of each row [rows, 2], and which have anything below the line."""
        right, counted = counts.T
        defined = counted != 0
        return np.divide(right, counted, out=np.zeros(len(counts)), where=defined), defined


@metrics.register
@dataclass(frozen=True)
class DeclinePrecision(_Declines):
    """Share of the declines that were right: unanswerable and declined / declined.

    None where nothing was declined. 1: every decline was right. 0.5: half of the declined questions
    had an answer. From 0 to 1. Source: this harness.
    """

    name: ClassVar[str] = "decline_precision"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="declined and unanswerable / declined",
        example=Example(
            "Three questions declined, two of them unanswerable: 2 / 3 = 0.6667.",
            "decline_precision",
            [*_EXAMPLE_CASES, answer_case("6 dollars", answerable=False)],
            0.6667,
        ),
        use='where a needless "I don\'t know" is expensive',
        blind="the unanswerable questions that were answered",
        family="binary",
    )

    def is_counted(self, unanswerable: bool, declined: bool) -> bool:
        """Count what was declined."""
        return declined


@metrics.register
@dataclass(frozen=True)
class DeclineRecall(_Declines):
    """Share of the unanswerable questions that were declined.

    None where every question is answerable. 1: every unanswerable question was declined. 0.5: half
    of them got an invented answer. From 0 to 1. Source: this harness.
    """

    name: ClassVar[str] = "decline_recall"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="declined and unanswerable / unanswerable",
        example=Example(
            "Four unanswerable questions, two of them declined: 2 / 4 = 0.5.",
            "decline_recall",
            [
                *_EXAMPLE_CASES,
                answer_case("6 dollars", answerable=False),
                answer_case("24 docks", answerable=False),
            ],
            0.5,
        ),
        use="where an invented answer is expensive",
        blind="the needless declines",
        family="binary",
    )

    def is_counted(self, unanswerable: bool, declined: bool) -> bool:
        """Count what could not be answered."""
        return unanswerable
