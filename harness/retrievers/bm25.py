"""BM25: word statistics, the baseline that is hard to beat."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Le

from harness.corpus.chunk_set import ChunkSet
from harness.ranking.exact_search import Numbers
from harness.records import Hit
from harness.retrievers import Retriever, SearchContext, retrievers
from harness.text.stopwords import Language, stop_words
from harness.text.words import search_terms


@retrievers.register
@dataclass(frozen=True)
class Bm25(Retriever):
    """BM25 of the bm25s library over lower-case words; chunks without any match are left out.

    Chinese, Japanese and other texts without spaces are searched by pairs of neighbouring
    characters. Stop words are those of the run's `language`, and of Arabic, Hindi, Chinese and
    Japanese; `stopwords: none` keeps all. Source: Robertson & Zaragoza, "The Probabilistic
    Relevance Framework: BM25 and Beyond", 2009; Lù, "BM25S", 2024 (variant `lucene`).
    """

    k1: Annotated[float, Ge(0)] = 1.5
    b: Annotated[float, Ge(0), Le(1)] = 0.75
    stopwords: Language | Literal["none"] = "english"

    name: ClassVar[str] = "bm25"
    version: ClassVar[int] = 2
    uses_vectors: ClassVar[bool] = False

    def in_language(self, language: Language) -> Self:
        """Return this with the stop words of a language, unless it names others."""
        return replace(self, stopwords=language) if self.stopwords == "english" else self

    def retrieve(self, questions: Sequence[str], index: SearchContext, k: int) -> list[list[Hit]]:
        """Return the best chunks of each question; ties by chunk number."""
        scorer = index.once((self.name, self), lambda: self._index(index.chunks))
        numbers = np.arange(len(index.chunks)) if index.allowed is None else index.allowed
        return [self._rank(question, scorer, index.chunks, numbers, k) for question in questions]

    def _rank(
        self, question: str, scorer: Any, chunks: ChunkSet, numbers: Numbers, k: int
    ) -> list[Hit]:
        words = self._words(question)
        indexed_words = (
            [] if scorer is None else [word for word in words if word in scorer.vocab_dict]
        )
        if not indexed_words:
            return []
        scores = scorer.get_scores(indexed_words)[numbers]
        least = np.partition(scores, -k)[-k] if k < len(scores) else 0.0
        likely = np.flatnonzero((scores >= least) & (scores > 0))  # rising, so ties stay in order
        best = likely[np.argsort(-scores[likely], kind="stable")[:k]]
        best_scores = zip(numbers[best].tolist(), scores[best].tolist(), strict=True)
        return [Hit(chunks[number], score) for number, score in best_scores]

    def _index(self, chunks: ChunkSet) -> Any:
        import bm25s
        from bm25s.tokenization import Tokenized

        # bm25s sets its own logger to DEBUG, and would tell of every index it makes.
        logging.getLogger("bm25s").setLevel(logging.WARNING)
        scorer = bm25s.BM25(k1=self.k1, b=self.b, method="lucene")
        # Numbers in the place of words: a word that occurs often is held in memory once.
        numbers: dict[str, int] = {}
        texts = [
            [numbers.setdefault(word, len(numbers)) for word in self._words(chunk.indexed_text)]
            for chunk in chunks
        ]
        if not numbers:
            return None
        scorer.index(Tokenized(texts, numbers), show_progress=False)
        return scorer

    def _words(self, text: str) -> list[str]:
        words = search_terms(text)
        if self.stopwords == "none":
            return words
        left_out = stop_words(self.stopwords)
        return [word for word in words if word not in left_out]
