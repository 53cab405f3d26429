"""ROUGE: how much of the reference does the answer say in the same words?"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from harness.facts import Example, Facts, answered
from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences

_NOT_ENGLISH = re.compile(r"[^\W_a-zA-Z0-9]")
_WORD = re.compile(r"[^\W_]\S*")
_MARKS = frozenset({"Mn", "Mc"})


class _Words:
    """Keeps the letters of every script; rouge-score's own tokeniser keeps [a-z0-9] alone.

    A mark, such as a vowel sign of Devanagari, belongs to the letter that it follows.
    """

    def __init__(self, stemmer: bool) -> None:
        from nltk.stem.porter import PorterStemmer

        self._stemmer = PorterStemmer() if stemmer else None

    def tokenize(self, text: str) -> list[str]:
        text = unicodedata.normalize("NFC", text.lower())
        kept = [each if each.isalnum() or _is_mark(each) else " " for each in text]
        words: list[str] = _WORD.findall("".join(kept))
        if self._stemmer is None:
            return words
        # As rouge-score does: short words stay as they are.
        return [self._stemmer.stem(word) if len(word) > 3 else word for word in words]


def _is_mark(character: str) -> bool:
    return unicodedata.category(character) in _MARKS


@lru_cache
def _scorer(measure: str, stemmer: bool, words: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([measure], use_stemmer=stemmer, tokenizer=_Words(stemmer) if words else None)


_FOX = answered(
    "A quick brown fox jumps over a lazy dog", "The quick brown fox jumps over the lazy dog"
)


@dataclass(frozen=True)
class _Rouge(AgainstReferences):
    """F-measure against the reference that gives the best; its precision and recall are kept.

    Text with letters beyond a to z is split by a tokeniser that keeps them, and the reason says
    so. Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.
    """

    stemmer: bool = False

    name: ClassVar[str]
    version: ClassVar[int] = 2

    def compare(self, answer: str, references: Sequence[str]) -> Score:
        """Score an answer against each reference and keep the best."""
        words = any(_NOT_ENGLISH.search(text) for text in (answer, *references))
        scorer = _scorer(self.name, self.stemmer, words)
        best = max(
            (scorer.score(reference, answer)[self.name] for reference in references),
            key=lambda each: each.fmeasure,
        )
        note = ", every script" if words else ""
        reason = f"precision {best.precision:.4f}, recall {best.recall:.4f}{note}"
        return Score(float(best.fmeasure), reason)


@metrics.register
@dataclass(frozen=True)
class Rouge1(_Rouge):
    """ROUGE-1: single words shared by answer and best reference (F-measure).

    From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rouge1"
    facts: ClassVar[Facts] = Facts(
        formula="2 × shared / (words of the answer + words of the reference)",
        example=Example(
            "“A quick brown fox jumps over a lazy dog” against “The quick brown fox jumps over the "
            "lazy dog”: 7 of 9 words are shared: 2 × 7 / (9 + 9) = 0.7778.",
            "rouge1",
            [_FOX],
            0.7778,
        ),
        use="for content",
        blind="order",
        family="graded",
        order="not order-aware",
    )


@metrics.register
@dataclass(frozen=True)
class Rouge2(_Rouge):
    """ROUGE-2: pairs of neighbouring words shared by answer and best reference (F-measure).

    From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rouge2"
    perfect: ClassVar[bool] = False
    facts: ClassVar[Facts] = Facts(
        formula="2 × shared / (pairs of the answer + pairs of the reference)",
        example=Example(
            "“A quick brown fox jumps over a lazy dog” against “The quick brown fox jumps over the "
            "lazy dog”: 5 of 8 pairs are shared: 2 × 5 / (8 + 8) = 0.625.",
            "rouge2",
            [_FOX],
            0.625,
        ),
        use="for wording",
        blind="synonyms, nor anything in an answer or a reference of one word: that has no pair, "
        "and scores 0",
        family="graded",
        order="order-aware",
    )


@metrics.register
@dataclass(frozen=True)
class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence of answer and best reference (F-measure).

    From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rougeL"
    facts: ClassVar[Facts] = Facts(
        formula="2 × longest common subsequence / (words of the answer + words of the reference)",
        example=Example(
            "“A quick brown fox jumps over a lazy dog” against “The quick brown fox jumps over the "
            "lazy dog”: 7 words in the same order: 2 × 7 / (9 + 9) = 0.7778.",
            "rougeL",
            [_FOX],
            0.7778,
        ),
        use="where word order matters",
        blind="synonyms",
        family="graded",
        order="order-aware",
    )


@metrics.register
@dataclass(frozen=True)
class RougeLsum(_Rouge):
    """ROUGE-Lsum: ROUGE-L line by line, split at newlines (F-measure).

    From 0 to 1. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rougeLsum"
    facts: ClassVar[Facts] = Facts(
        formula="2 × Σ of the lines' subsequences / (words of the answer + words of the reference)",
        example=Example(
            "The lines “It has no air.” and “It is far.” against “It is far.” and “It has no "
            "air.”: each of the 7 words has its place in a line: 2 × 7 / (7 + 7) = 1.",
            "rougeLsum",
            [answered("It has no air.\nIt is far.", "It is far.\nIt has no air.")],
            1.0,
        ),
        use="for answers of several lines",
        blind="synonyms",
        family="graded",
        order="order-aware within a line",
    )
