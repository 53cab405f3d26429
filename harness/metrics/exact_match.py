"""Exact match: did the system say what a reference says?"""

from __future__ import annotations

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
class ExactMatch(AgainstReferences):
    """1 where the answer equals a reference, letter case, articles and punctuation aside, else 0.

    0 or 1 a question. Source: SQuAD, 2016.
    """

    name: ClassVar[str] = "exact_match"
    facts: ClassVar[Facts] = Facts(
        formula="1 if the normalised answer = a normalised reference, else 0",
        example=Example(
            "“The harbour.” equals “harbour”, and “The 384,400 km, on average.” says more than "
            "“384,400 km”: (1 + 0) / 2 = 0.5.",
            "exact_match",
            [
                answered("The harbour.", "harbour"),
                answered("The 384,400 km, on average.", "384,400 km"),
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
        said = normalised(answer)
        return Score(float(any(said == normalised(reference) for reference in references)))
