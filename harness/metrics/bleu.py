"""BLEU: which word sequences of the answer stand in a reference?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences
from harness.tokens import Tokens, tokenise

_ABOVE_ONE = (5, 7)


@metrics.register
@dataclass(frozen=True)
class Bleu(AgainstReferences):
    """Sentence BLEU of nltk against all references, of order min(4, tokens of the answer).

    `smoothing` is nltk's method 0 to 7 (5 and 7 can exceed 1 and are refused); `tokens` is `words`
    or `whitespace`. Use it for quick feedback. It cannot see that two different words mean the
    same. Never averaged into a corpus BLEU. Source: Papineni et al., "BLEU: a Method for Automatic
    Evaluation of Machine Translation", 2002; Chen & Cherry, "A Systematic Comparison of Smoothing
    Techniques for Sentence-Level BLEU", 2014.
    """

    smoothing: Annotated[int, Ge(0), Le(7)] = 1
    tokens: Tokens = "words"

    name: ClassVar[str] = "bleu"

    def __post_init__(self) -> None:
        if self.smoothing in _ABOVE_ONE:
            raise ValueError(f"smoothing: method {self.smoothing} can give more than 1; use 1")

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Score an answer against all its references at once."""
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        words = tokenise(answer, self.tokens)
        order = min(4, len(words))
        value = sentence_bleu(
            [tokenise(reference, self.tokens) for reference in references],
            words,
            weights=(1 / order,) * order,
            smoothing_function=getattr(SmoothingFunction(), f"method{self.smoothing}"),
        )
        return Score(min(float(value), 1.0), f"{self.tokens}, smoothing {self.smoothing}")
