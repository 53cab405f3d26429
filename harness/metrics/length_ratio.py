"""Length ratio: is the answer about as long as it should be?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences
from harness.tokens import Tokens, tokenise


@metrics.register
@dataclass(frozen=True)
class LengthRatio(AgainstReferences):
    """The shorter over the longer of two token counts: the answer's and the mean reference's.

    Use it beside a metric of content. It cannot see what the words are. From 0 to 1, graded, not
    order-aware. Source: this harness.
    """

    tokens: Tokens = "words"

    name: ClassVar[str] = "length_ratio"

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Compare with the mean length of the references."""
        said = len(tokenise(answer, self.tokens))
        wanted = sum(len(tokenise(each, self.tokens)) for each in references) / len(references)
        return Score(min(said, wanted) / max(said, wanted), f"{said} tokens, {wanted:g} wanted")
