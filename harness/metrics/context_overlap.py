"""Context overlap: are the answer's words in the context?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from harness.metrics import metrics
from harness.metrics.facts import PYTHON_CASE, Example, MetricFacts
from harness.metrics.needs import Need, QualityMetric
from harness.records import Case, Score, not_scored
from harness.text.words import Tokens, tokenise


@metrics.register
@dataclass(frozen=True)
class ContextOverlap(QualityMetric):
    """Share of the answer's tokens that occur in the context as it was sent; needs no reference.

    An empty answer gets 0. 1: every token of the answer is in the context. 0: none is. 0.8: a fifth
    is from elsewhere. From 0 to 1. Source: this harness.
    """

    tokens: Tokens = "words"

    name: ClassVar[str] = "context_overlap"
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[Need]] = frozenset({"answer", "context"})
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="tokens of the answer that the context has / tokens of the answer",
        example=Example(
            "“Python is a high-level programming language known for its simplicity.” from the "
            "context “Python is a language. It is popular. Used for data science.”: python, is, a, "
            "language, for and the full stop, 6 / 13 = 0.4615.",
            "context_overlap",
            [PYTHON_CASE],
            0.4615,
        ),
        use="as a cheap sign of invention",
        blind="whether the words are put together rightly; it is 1 by construction for a generator "
        "that copies sentences",
    )

    def score(self, case: Case) -> Score:
        """Score one answer; None where there is no answer or no context."""
        if case.answer is None:
            return not_scored("nothing was answered")
        if not case.context:
            return not_scored("no context was sent")
        answer_tokens = tokenise(case.answer.text, self.tokens)
        if not answer_tokens:
            return Score(0.0, "the answer is empty")
        sent = set(tokenise(case.context, self.tokens))
        shared = sum(token in sent for token in answer_tokens)
        return Score(shared / len(answer_tokens), f"{shared} of {len(answer_tokens)} tokens")
