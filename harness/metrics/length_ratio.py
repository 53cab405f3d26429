"""Length ratio: is the answer about as long as it should be?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import PYTHON_CASE, Example, MetricFacts
from harness.metrics.references import ReferenceMetric
from harness.records import Score
from harness.text.words import Tokens, tokenise


@metrics.register
@dataclass(frozen=True)
class LengthRatio(ReferenceMetric):
    """The shorter over the longer of two token counts: the answer's and the mean reference's.

    1: as long as the mean reference. 0.5: half or twice as long. 0: empty. From 0 to 1. Source:
    this harness.
    """

    tokens: Tokens = "words"

    name: ClassVar[str] = "length_ratio"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="min(a, r) / max(a, r), a = the answer's tokens, r = the mean reference's",
        example=Example(
            "An answer of 13 tokens, references of 9 and 8: (9 + 8) / 2 = 8.5, and "
            "8.5 / 13 = 0.6538.",
            "length_ratio",
            [PYTHON_CASE],
            0.6538,
        ),
        use="beside a metric of content",
        blind="what the words are",
    )

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with the mean length of the references."""
        length = len(tokenise(answer, self.tokens))
        mean_length = sum(len(tokenise(reference, self.tokens)) for reference in references) / len(
            references
        )
        return Score(
            min(length, mean_length) / max(length, mean_length),
            f"{length} tokens, {mean_length:g} wanted",
        )
