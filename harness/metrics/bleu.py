"""BLEU: which word sequences of the answer stand in a reference?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from harness.metrics import metrics
from harness.metrics.facts import PYTHON_CASE, Example, MetricFacts
from harness.metrics.references import ReferenceMetric
from harness.records import Score
from harness.text.words import Tokens, tokenise

_REFUSED_SMOOTHING = {
    5: "can give more than 1",
    6: "gives up where answer and reference share no three words in a row",
    7: "can give more than 1",
}


@metrics.register
@dataclass(frozen=True)
class Bleu(ReferenceMetric):
    """Sentence BLEU of nltk against all references, of order min(4, tokens of the answer).

    `smoothing` is nltk's method 0 to 4 (5 and 7 can exceed 1, and 6 has no value for many pairs:
    they are refused); `tokens` is `words` or `whitespace`. Never averaged into a corpus BLEU. 1: a
    reference word for word. 0.3 is usual for a good answer in other words, 0 an empty one. From 0
    to 1. Source: Papineni et al., "BLEU: a Method for Automatic Evaluation of Machine Translation",
    2002; Chen & Cherry, "A Systematic Comparison of Smoothing Techniques for Sentence-Level BLEU",
    2014.
    """

    smoothing: Annotated[int, Ge(0), Le(7)] = 1
    tokens: Tokens = "words"

    name: ClassVar[str] = "bleu"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="BP × (p₁ × p₂ × p₃ × p₄)^(1/4), pₙ = share of the answer's n-grams that a "
        "reference has, BP = min(1, e^(1 − tokens of the nearest reference / of the answer))",
        example=Example(
            "“Python is a high-level programming language known for its simplicity.” against "
            "“Python is a high-level interpreted language.” and “Python is a programming language "
            "emphasizing readability.”: 9 of 13 tokens, 6 of 12 pairs, 4 of 11 triples and 3 of 10 "
            "fours, and BP = 1, as the answer is the longer: "
            "(9/13 × 6/12 × 4/11 × 3/10)^(1/4) = 0.4408.",
            "bleu",
            [PYTHON_CASE],
            0.4408,
        ),
        use="for quick feedback",
        blind="that two different words mean the same",
        order="order-aware within n-grams",
    )

    def __post_init__(self) -> None:
        if self.smoothing in _REFUSED_SMOOTHING:
            why = _REFUSED_SMOOTHING[self.smoothing]
            raise ValueError(f"smoothing: method {self.smoothing} {why}; use 1")

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Score an answer against all its references at once."""
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

        words = tokenise(answer, self.tokens)
        order = min(4, len(words))
        with warnings.catch_warnings():
            # nltk warns that method 0 gives 0 where a count is 0: that is what was asked for.
            warnings.simplefilter("ignore")
            value = sentence_bleu(
                [tokenise(reference, self.tokens) for reference in references],
                words,
                weights=(1 / order,) * order,
                smoothing_function=getattr(SmoothingFunction(), f"method{self.smoothing}"),
            )
        return Score(min(float(value), 1.0), f"{self.tokens}, smoothing {self.smoothing}")
