"""Exact match: did the system say what a reference says?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences
from harness.squad import normalised


@metrics.register
@dataclass(frozen=True)
class ExactMatch(AgainstReferences):
    """1 where the answer equals a reference, letter case, articles and punctuation aside, else 0.

    Use it for short answers. It cannot see that a longer answer holds the right one. 0 or 1 a
    question, binary, order-aware. Source: SQuAD, 2016.
    """

    name: ClassVar[str] = "exact_match"

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with each reference."""
        said = normalised(answer)
        return Score(float(any(said == normalised(reference) for reference in references)))
