"""Length ratio: is the answer about as long as it should be?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.facts import Example, Facts, answered
from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences
from harness.tokens import Tokens, tokenise


@metrics.register
@dataclass(frozen=True)
class LengthRatio(AgainstReferences):
    """The shorter over the longer of two token counts: the answer's and the mean reference's.

    From 0 to 1. Source: this harness.
    """

    tokens: Tokens = "words"

    name: ClassVar[str] = "length_ratio"
    facts: ClassVar[Facts] = Facts(
        formula="min(a, r) / max(a, r), a = the answer's tokens, r = the mean reference's",
        example=Example(
            "An answer of 13 tokens, references of 9 and 8: (9 + 8) / 2 = 8.5, and "
            "8.5 / 13 = 0.6538.",
            "length_ratio",
            [
                answered(
                    "Python is a high-level programming language known for its simplicity.",
                    "Python is a high-level interpreted language.",
                    "Python is a programming language emphasizing readability.",
                )
            ],
            0.6538,
        ),
        use="beside a metric of content",
        blind="what the words are",
        family="graded",
        order="not order-aware",
    )

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with the mean length of the references."""
        said = len(tokenise(answer, self.tokens))
        wanted = sum(len(tokenise(each, self.tokens)) for each in references) / len(references)
        return Score(min(said, wanted) / max(said, wanted), f"{said} tokens, {wanted:g} wanted")
