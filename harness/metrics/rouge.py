"""ROUGE: how much of the reference does the answer say in the same words?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from harness.metrics import metrics
from harness.metrics.facts import Example, MetricFacts, answer_case
from harness.metrics.references import ReferenceMetric
from harness.records import Score, not_scored
from harness.text.words import tokenise

_NON_ASCII_LETTER = re.compile(r"[^\W_a-zA-Z0-9]")
_MAX_WORD_PAIRS = 30_000_000
"""Words times words; rouge-score takes some 10 bytes and 0.2 µs for each."""


class _Tokenizer:
    """Keeps the words of every script; rouge-score's own tokeniser keeps [a-z0-9] alone."""

    def __init__(self, stemmer: bool) -> None:
        from nltk.stem.porter import PorterStemmer

        self._stemmer = PorterStemmer() if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        tokens = tokenise(text.replace("_", " "))
        words = [word for word in tokens if any(map(str.isalnum, word))]
        if self._stemmer is None:
            return words
        # As rouge-score does: short words stay as they are.
        return [self._stemmer.stem(word) if len(word) > 3 else word for word in words]


@lru_cache
def _scorer(measure: str, stemmer: bool, every_script: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    tokenizer = _Tokenizer(stemmer) if every_script else None
    return RougeScorer([measure], use_stemmer=stemmer, tokenizer=tokenizer)


_EXAMPLE_CASE = answer_case(
    "A quick brown fox jumps over a lazy dog", "The quick brown fox jumps over the lazy dog"
)


@dataclass(frozen=True)
class _Rouge(ReferenceMetric):
    """F-measure against the reference that gives the best; its precision and recall are kept.

    Text with letters beyond a to z is split by a tokeniser that keeps them, and the reason says
    so. Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.
    """

    stemmer: bool = False

    version: ClassVar[int] = 3
    is_quadratic: ClassVar[bool] = False
    """Whether every word is held against every other."""

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Score an answer against each reference and keep the best, where it is short enough."""
        if self.is_quadratic and len(answer) * max(map(len, references)) > _MAX_WORD_PAIRS:
            words = len(tokenise(answer))
            reference_words = max(len(tokenise(text)) for text in references)
            if words * reference_words > _MAX_WORD_PAIRS:
                return not_scored(
                    f"an answer of {words:,} words and a reference of {reference_words:,} "
                    "is too long"
                )
        every_script = any(
            not text.isascii() and _NON_ASCII_LETTER.search(text) for text in (answer, *references)
        )
        scorer = _scorer(self.name, self.stemmer, every_script)
        one = len(references) == 1
        scores = (
            scorer.score(references[0], answer) if one else scorer.score_multi(references, answer)
        )
        best = scores[self.name]
        note = ", every script" if every_script else ""
        reason = f"precision {best.precision:.4f}, recall {best.recall:.4f}{note}"
        return Score(float(best.fmeasure), reason)


@metrics.register
@dataclass(frozen=True)
class Rouge1(_Rouge):
    """ROUGE-1: single words shared by answer and best reference (F-measure).

    1: the same words, in any order. 0: no word is shared. 0.4: a free wording of the same. From 0
    to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rouge1"
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × shared / (words of the answer + words of the reference)",
        example=Example(
            "“A quick brown fox jumps over a lazy dog” against “The quick brown fox jumps over the "
            "lazy dog”: 7 of 9 words are shared: 2 × 7 / (9 + 9) = 0.7778.",
            "rouge1",
            [_EXAMPLE_CASE],
            0.7778,
        ),
        use="for content",
        blind="order",
    )


@metrics.register
@dataclass(frozen=True)
class Rouge2(_Rouge):
    """ROUGE-2: pairs of neighbouring words shared by answer and best reference (F-measure).

    1: the same pairs. 0: no two neighbouring words are shared. 0.2: a free wording of the same.
    From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rouge2"
    perfect: ClassVar[bool] = False
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × shared / (pairs of the answer + pairs of the reference)",
        example=Example(
            "“A quick brown fox jumps over a lazy dog” against “The quick brown fox jumps over the "
            "lazy dog”: 5 of 8 pairs are shared: 2 × 5 / (8 + 8) = 0.625.",
            "rouge2",
            [_EXAMPLE_CASE],
            0.625,
        ),
        use="for wording",
        blind="synonyms, nor anything in an answer or a reference of one word: that has no pair, "
        "and scores 0",
        order="order-aware",
    )


@metrics.register
@dataclass(frozen=True)
class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence of answer and best reference (F-measure).

    Texts of which every word cannot be held against every other, 30 million pairs at most, are not
    scored. 1: the same words in the same order. 0: no word is shared. 0.4: a free wording of the
    same. From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rougeL"
    is_quadratic: ClassVar[bool] = True
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × longest common subsequence / (words of the answer + words of the reference)",
        example=Example(
            "“A quick brown fox jumps over a lazy dog” against “The quick brown fox jumps over the "
            "lazy dog”: 7 words in the same order: 2 × 7 / (9 + 9) = 0.7778.",
            "rougeL",
            [_EXAMPLE_CASE],
            0.7778,
        ),
        use="where word order matters",
        blind="synonyms",
        order="order-aware",
    )


@metrics.register
@dataclass(frozen=True)
class RougeLsum(_Rouge):
    """ROUGE-Lsum: ROUGE-L line by line, split at newlines (F-measure).

    Long texts are not scored, as by ROUGE-L. 1: each line is in the reference. 0: no word is
    shared. 0.4: a free wording of the same. From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rougeLsum"
    is_quadratic: ClassVar[bool] = True
    facts: ClassVar[MetricFacts] = MetricFacts(
        formula="2 × Σ of the lines' subsequences / (words of the answer + words of the reference)",
        example=Example(
            "The lines “It has no air.” and “It is far.” against “It is far.” and “It has no "
            "air.”: each of the 7 words has its place in a line: 2 × 7 / (7 + 7) = 1.",
            "rougeLsum",
            [answer_case("It has no air.\nIt is far.", "It is far.\nIt has no air.")],
            1.0,
        ),
        use="for answers of several lines",
        blind="synonyms",
        order="order-aware within a line",
    )
