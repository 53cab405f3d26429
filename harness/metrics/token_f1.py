"""Token F1: the words that answer and reference share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.facts import Example, Facts, answered
from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences
from harness.squad import normalised


@metrics.register
@dataclass(frozen=True)
class TokenF1(AgainstReferences):
    """Harmonic mean of the shares of words that answer and best reference have in common.

    Words are normalised as SQuAD does. From 0 to 1. Source: SQuAD, 2016.
    """

    name: ClassVar[str] = "token_f1"
    facts: ClassVar[Facts] = Facts(
        formula="2 × shared words / (words of the answer + words of the reference)",
        example=Example(
            "“The 384,400 km, on average.” against “384,400 km”: without the article 4 words and "
            "2, of which 2 are shared: 2 × 2 / (4 + 2) = 0.6667.",
            "token_f1",
            [answered("The 384,400 km, on average.", "384,400 km")],
            0.6667,
        ),
        use="for short answers that may carry more words",
        blind="order or synonyms",
        family="graded",
        order="not order-aware",
    )

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with each reference and keep the best."""
        said = normalised(answer)
        return Score(max(_f1(said, normalised(reference)) for reference in references))


def _f1(said: Sequence[str], wanted: Sequence[str]) -> float:
    if not said or not wanted:
        return float(said == wanted)
    return 2 * (Counter(said) & Counter(wanted)).total() / (len(said) + len(wanted))
