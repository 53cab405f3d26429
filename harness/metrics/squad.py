"""Exact match and token F1: does the answer say what a reference says?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.references import ReferenceMetric
from harness.records import Score
from harness.text.words import normalise_answer


@metrics.register
@dataclass(frozen=True)
class ExactMatch(ReferenceMetric):
    """1 where the answer equals a reference, letter case, articles and punctuation aside, else 0.

    Its mean is the share of answers that are exactly right. 0 or 1 a question. Source: SQuAD, 2016.
    """

    name: ClassVar[str] = "exact_match"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="1 if the normalised answer = a normalised reference, else 0",
        example=Example(
            "“The harbour.” equals “harbour”, and “The 384,400 km, on average.” says more than "
            "“384,400 km”: (1 + 0) / 2 = 0.5.",
            "exact_match",
            [
                answer_case("The harbour.", "harbour"),
                answer_case("The 384,400 km, on average.", "384,400 km"),
            ],
            0.5,
        ),
        use="for short answers",
        blind="that a longer answer holds the right one",
        family="binary",
        order="order-aware",
    )

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with each reference."""
        normal_answer = normalise_answer(answer)
        return Score(
            float(any(normal_answer == normalise_answer(reference) for reference in references))
        )


@metrics.register
@dataclass(frozen=True)
class TokenF1(ReferenceMetric):
    """Harmonic mean of the shares of words that answer and best reference have in common.

    Words are normalised as SQuAD does. 1: the same words. 0: no word is shared. 0.67: all words and
    as many needless ones. From 0 to 1. Source: SQuAD, 2016.
    """

    name: ClassVar[str] = "token_f1"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × shared words / (words of the answer + words of the reference)",
        example=Example(
            "“The 384,400 km, on average.” against “384,400 km”: without the article 4 words and "
            "2, of which 2 are shared: 2 × 2 / (4 + 2) = 0.6667.",
            "token_f1",
            [answer_case("The 384,400 km, on average.", "384,400 km")],
            0.6667,
        ),
        use="for short answers that may carry more words",
        blind="order or synonyms",
    )

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with each reference and keep the best."""
        tokens = normalise_answer(answer)
        return Score(max(_f1(tokens, normalise_answer(reference)) for reference in references))


def _f1(tokens: Sequence[str], reference_tokens: Sequence[str]) -> float:
    if not tokens or not reference_tokens:
        return float(tokens == reference_tokens)
    return (
        2
        * (Counter(tokens) & Counter(reference_tokens)).total()
        / (len(tokens) + len(reference_tokens))
    )
