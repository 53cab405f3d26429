"""ROUGE: how much of the reference does the answer say in the same words?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from harness.metrics import metrics
from harness.records import Score
from harness.references import AgainstReferences
from harness.tokens import tokenise

_NOT_ENGLISH = re.compile(r"[^\W_a-zA-Z0-9]")


class _Words:
    """Keeps the letters of every script; rouge-score's own tokeniser keeps [a-z0-9] alone."""

    def tokenize(self, text: str) -> list[str]:
        return [word for word in tokenise(text) if word[0].isalnum()]


@lru_cache
def _scorer(measure: str, stemmer: bool, words: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([measure], use_stemmer=stemmer, tokenizer=_Words() if words else None)


@dataclass(frozen=True)
class _Rouge(AgainstReferences):
    """F-measure against the reference that gives the best; its precision and recall are kept.

    Text with letters beyond a to z is split by a tokeniser that keeps them, and the reason says
    so. Source: Lin, "ROUGE: A Package for Automatic Evaluation of Summaries", 2004.
    """

    stemmer: bool = False

    name: ClassVar[str]

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

    Use it for content. It cannot see order. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rouge1"


@metrics.register
@dataclass(frozen=True)
class Rouge2(_Rouge):
    """ROUGE-2: pairs of neighbouring words shared by answer and best reference (F-measure).

    Use it for wording. An answer and a reference of one word each have no pair, and score 0.
    Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rouge2"
    perfect: ClassVar[bool] = False


@metrics.register
@dataclass(frozen=True)
class RougeL(_Rouge):
    """ROUGE-L: the longest common subsequence of answer and best reference (F-measure).

    Use it where word order matters. It cannot see synonyms. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rougeL"


@metrics.register
@dataclass(frozen=True)
class RougeLsum(_Rouge):
    """ROUGE-Lsum: ROUGE-L line by line, split at newlines (F-measure).

    Use it for answers of several lines. Source: Lin, 2004, by rouge-score.
    """

    name: ClassVar[str] = "rougeLsum"
