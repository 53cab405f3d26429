"""Token F1: the words that answer and reference share."""

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
class TokenF1(ReferenceMetric):
    """Harmonic mean of the shares of words that answer and best reference have in common.

    Words are normalised as SQuAD does. From 0 to 1. Source: SQuAD, 2016.
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
